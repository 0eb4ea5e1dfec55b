package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the loop turns to the run under way again. */
class LookAheadTest {
  private static final long RUN = 1_000_000;
  private static final long AHEAD = 100_000;
  private static final long LATE_END = 60_000;
  private static final long SHORT = 30_000;

  @TempDir Path repository;

  private final AtomicLong runNanos = new AtomicLong(RUN);
  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
              .withExecutionNanos(program -> runNanos.get()),
          new Fifo(),
          true,
          EngineOptions.DEFAULT);
  private final DispatchLoop loop = engine.proxy().loop();

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void shouldAttendToNothingWhileNothingRuns() {
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(Long.MAX_VALUE);
    assertThat(loop.pipeline().isEndNear()).isFalse();
    assertThat(loop.pipeline().isComputingHere()).isFalse();
  }

  @Test
  void shouldAttendShortlyBeforeTheRunIsExpectedToEnd() {
    load();
    run();
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(RUN - AHEAD);
    engine.clock().advance(RUN);
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(-AHEAD);
  }

  @Test
  void shouldAttendEarlierByAsMuchAsTheThreadWakesLate() {
    load();
    run();
    loop.pipeline().wakesLateBy(40_000);
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(RUN - AHEAD - 40_000);
    loop.pipeline().wakesLateBy(0);
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(RUN - AHEAD);
  }

  @Test
  void shouldAttendEarlierByTwiceWhatArmingTookOfLate() {
    load();
    run();
    long began = engine.clock().nanoTime();
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            engine.clock().advance(8_000);
          }
        });
    arm();
    engine.clock().sleepUntil(began + RUN);
    engine.turn(); // what was armed runs
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(RUN - AHEAD - 2 * 1_000);
    arm();
    engine.clock().sleepUntil(began + 2 * RUN);
    engine.turn();
    assertThat(loop.pipeline().untilAttentionNanos()).isEqualTo(RUN - AHEAD - 2 * 1_875);
  }

  @Test
  void shouldExpectTheEndFromThenUntilALittleAfterIt() {
    load();
    run();
    engine.clock().advance(RUN - AHEAD - 1);
    assertThat(loop.pipeline().isEndNear()).isFalse();
    engine.clock().advance(1);
    assertThat(loop.pipeline().isEndNear()).isTrue();
    engine.clock().advance(AHEAD + LATE_END - 1);
    assertThat(loop.pipeline().isEndNear()).isTrue();
    engine.clock().advance(1);
    assertThat(loop.pipeline().isEndNear()).as("it takes longer than expected").isFalse();
  }

  @Test
  void shouldArmNothingBesideAShortRun() {
    runNanos.set(SHORT - 1);
    load();
    run();
    engine.submit("m", 2);
    engine.turn();
    assertThat(loop.nextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    assertThat(loop.pipeline().isComputingHere()).as("long enough to sleep").isFalse();
  }

  @Test
  void shouldArmBesideARunThatIsNotShort() {
    runNanos.set(SHORT);
    load();
    run();
    engine.submit("m", 2);
    assertThat(engine.turn()).as("taken, and armed at once").isEqualTo(2);
    assertThat(loop.pipeline().isComputingHere()).isTrue();
  }

  private void load() {
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
  }

  private void run() {
    engine.submit("m", 1);
    assertThat(engine.turn()).as("taken, and started").isEqualTo(2);
  }

  /** Arms a batch at the moment for it. */
  private void arm() {
    engine.submit("m", 2);
    engine.turn();
    engine.clock().sleepUntil(loop.nextMomentNanos());
    assertThat(engine.turn()).isEqualTo(1);
    assertThat(loop.nextMomentNanos()).as("one at a time").isEqualTo(Long.MAX_VALUE);
  }
}
