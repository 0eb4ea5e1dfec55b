package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class DeviceTimeTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldAddUpToAllTheTimeThatHasPassed() {
    ManualClock clock = new ManualClock(1_000);
    DeviceTime time = new DeviceTime(clock);
    clock.advance(5);
    assertThat(time.read()).containsEntry(DeviceUse.NO_REQUESTS, 5L);
    time.become(DeviceUse.RUNNING);
    clock.advance(7);
    time.become(DeviceUse.DISPATCH, clock.nanoTime() - 1);
    time.become(DeviceUse.RUNNING, clock.nanoTime() - 3); // read before that
    clock.advance(2);

    Map<DeviceUse, Long> read = time.read();
    assertThat(read).containsEntry(DeviceUse.RUNNING, 9L).containsEntry(DeviceUse.DISPATCH, 0L);
    assertThat(read.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(14);
  }

  @Test
  void shouldCountRunsAndWhyNothingRan() {
    TurnedEngine engine =
        new TurnedEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
            new Fifo());
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
    Map<DeviceUse, Long> before = engine.engine().reports().deviceTime();
    engine.clock().advance(30);
    CompletableFuture<Reply> reply = engine.submit("m", 1);
    engine.run();
    LiveEngine.assertCompleted(reply);
    engine.clock().advance(50);

    Map<DeviceUse, Long> after = engine.engine().reports().deviceTime();
    assertThat(of(DeviceUse.RUNNING, after) - of(DeviceUse.RUNNING, before)).isEqualTo(RUN);
    assertThat(of(DeviceUse.NO_REQUESTS, after) - of(DeviceUse.NO_REQUESTS, before)).isEqualTo(80);
    engine.close();
  }

  @Test
  @Timeout(60)
  void shouldNeverFallWhileItIsWritten() {
    DeviceTime time = new DeviceTime(NanoClock.SYSTEM);
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Integer> reader =
        CompletableFuture.supplyAsync(
            () -> {
              int readings = 0;
              Map<DeviceUse, Long> last = time.read();
              do {
                Map<DeviceUse, Long> next = time.read();
                for (DeviceUse use : DeviceUse.values()) {
                  assertThat(of(use, next)).as("%s", use).isGreaterThanOrEqualTo(of(use, last));
                }
                last = next;
                readings++;
              } while (!over.get());
              return readings;
            });
    for (int i = 0; i < 2_000_000; i++) {
      time.become(i % 2 == 0 ? DeviceUse.RUNNING : DeviceUse.DISPATCH);
    }
    over.set(true);
    assertThat(reader.join()).isPositive();
  }

  private static long of(DeviceUse use, Map<DeviceUse, Long> read) {
    return read.getOrDefault(use, -1L);
  }
}
