package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

/** Ids of requests in log records. */
class RequestIdsTest {
  private final List<@Nullable String> logged = new ArrayList<>();

  @Test
  void shouldLogTheIdAndForgetItAfterwards() {
    RequestIds.with("r17", this::log);
    log();
    assertThat(logged).containsExactly("r17", null);
  }

  @Test
  void shouldLogNothingWithoutOne() {
    RequestIds.with("", this::log);
    RequestIds.with(null, this::log);
    assertThat(logged).containsExactly(null, null);
  }

  @Test
  void shouldLetNoClientWriteLinesOfItsOwn() {
    RequestIds.with("a\n2026 ERROR forged\r\u2028", this::log);
    assertThat(logged).containsExactly("a?2026 ERROR forged??");
  }

  @Test
  void shouldLogTheBeginningOfALongOne() {
    RequestIds.with("x".repeat(1_000_000), this::log);
    assertThat(logged).containsExactly("x".repeat(128));
  }

  private void log() {
    logged.add(MDC.get(RequestIds.KEY));
  }
}
