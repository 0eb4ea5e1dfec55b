package dev.roundhouse.platform.recording;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.page.PageEnd;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;

/** What is refused before anything is recorded; the worker's RecordingTest records. */
class RecordingEndpointTest {

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 61})
  void shouldSayWhichLengthsThereAre(int seconds) throws IOException {
    WebEndpointResponse<Resource> refused = new RecordingEndpoint(new PageEnd()).record(seconds);
    assertThat(refused.getStatus()).isEqualTo(400);
    Resource body = Objects.requireNonNull(refused.getBody());
    assertThat(body.getContentAsString(StandardCharsets.UTF_8))
        .startsWith("{\"error\":\"seconds is " + seconds + " and can be 1 to 60;");
  }
}
