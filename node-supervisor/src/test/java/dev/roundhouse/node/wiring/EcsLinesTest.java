package dev.roundhouse.node.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Lines of processes among records. */
class EcsLinesTest {
  private final EcsLines lines = new EcsLines("w1");

  @Test
  void shouldLeaveRecordsAlone() {
    assertThat(written("{\"message\":\"own\"}")).isEqualTo("{\"message\":\"own\"}\n");
  }

  @Test
  void shouldMakeRecordsOfOtherLines() {
    assertThat(written("says \"no\""))
        .startsWith("{\"@timestamp\":\"2")
        .contains("\"service\":{\"node\":{\"name\":\"w1\"}}")
        .contains("\"message\":\"says \\\"no\\\"\"")
        .endsWith("}\n");
  }

  @Test
  void shouldTakeWhatLooksLikeTheBeginningOfARecordForALine() {
    assertThat(written("{\"a [cut]")).contains("\"message\":\"{\\\"a [cut]\"");
    assertThat(written("{a=b}")).contains("\"message\":\"{a=b}\"");
  }

  private String written(String line) {
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    return new String(lines.written(bytes, bytes.length), StandardCharsets.UTF_8);
  }
}
