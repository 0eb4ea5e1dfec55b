package dev.roundhouse.engine.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

class LogThrottleTest {
  private final List<String> lines = new ArrayList<>();
  private final Logger log =
      (Logger)
          Proxy.newProxyInstance(
              Logger.class.getClassLoader(),
              new Class<?>[] {Logger.class},
              (proxy, method, arguments) -> lines.add(Arrays.deepToString(arguments)));

  @Test
  void shouldLogFewLinesOfAFailureThatIsMetTenThousandTimes() {
    LogThrottle throttle = new LogThrottle(log);
    long began = System.nanoTime();
    for (int i = 0; i < 10_000; i++) {
      if (i % 2 == 0) {
        throttle.warn("it failed");
      } else {
        throttle.warn("it failed", new IllegalStateException("made by a test"));
      }
    }
    long seconds = (System.nanoTime() - began) / 1_000_000_000;
    assertThat(lines).hasSizeBetween(1, 2 + (int) seconds);
    assertThat(lines.getFirst()).contains("it failed").doesNotContain("more since");
  }

  @Test
  void shouldSayHowManyItDidNotLog() {
    LogThrottle throttle = new LogThrottle(log);
    long end = System.nanoTime() + 10_000_000_000L;
    int met = 0;
    while (lines.size() < 2 && System.nanoTime() < end) {
      throttle.warn("it failed");
      met++;
    }
    assertThat(lines).hasSize(2);
    assertThat(lines.getLast()).contains("(and " + (met - 2) + " more since this was last logged)");
  }
}
