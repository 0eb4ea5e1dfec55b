package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class V1InferPathTest {

  @ParameterizedTest
  @CsvSource({
    "/api/infer/m, m, '', ''",
    "/api/infer/m/3?format=binary, m, 3, binary",
    "/api/infer/a%2Bb?x=1&format=text, a+b, '', text",
  })
  void shouldReadWhatClientsAsk(String target, String name, String version, String format) {
    assertThat(V1InferPath.of("POST", target)).isEqualTo(new V1InferPath(name, version, format));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/api/infer",
        "/api/infer/",
        "/api/infer/m/",
        "/api/infer/m/1/2",
        "//api/infer/m",
        "/api//infer/m",
        "/api/status/m",
        "/API/infer/m",
        "/api/infer/a%2Fb",
      })
  void shouldLeaveTheRestToOthers(String target) {
    assertThat(V1InferPath.of("POST", target)).isNull();
  }

  @Test
  void shouldTakePostsAlone() {
    assertThat(V1InferPath.of("GET", "/api/infer/m")).isNull();
  }

  @Test
  void shouldRefuseAnUnknownFormat() {
    assertThat(new V1InferPath("m", "", "binary").isBinary()).isTrue();
    assertThat(new V1InferPath("m", "", "").isBinary()).isFalse();
    assertThatThrownBy(() -> new V1InferPath("m", "", "xml").isBinary())
        .hasMessage("format is 'xml'; it may be 'text' or 'binary'");
  }
}
