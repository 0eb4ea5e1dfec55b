package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the thread {@code dispatch} looks for work, and when it sleeps. */
class DispatchThreadTest {
  private static final int RUNS = 5;

  @TempDir Path repository;

  /**
   * Each turn of the loop asks the run whether it is over; a thread that spins, thousands of times.
   */
  @Test
  void shouldSleepThroughRunsThatTheHostsProcessorsCompute() {
    try (LiveEngine live = new LiveEngine(EngineOptions.DEFAULT, TestBundle.DOUBLE, true, true)) {
      live.runsTake(TimeUnit.MILLISECONDS.toNanos(20));
      live.load(TestBundle.doubling(2, 1).write(repository, "m"));
      AtomicInteger asked = new AtomicInteger();
      live.device()
          .hook(
              (call, of) -> {
                if (call == Call.IS_DONE) {
                  asked.incrementAndGet();
                }
              });
      for (int i = 0; i < RUNS; i++) {
        LiveEngine.assertCompleted(live.submit("m", 1, 2));
      }
      assertThat(asked.get()).isBetween(RUNS, 10 * RUNS);
      live.assertWell();
    }
  }
}
