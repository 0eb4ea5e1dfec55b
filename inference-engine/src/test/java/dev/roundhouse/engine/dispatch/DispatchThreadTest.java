package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.BrittleDiscipline;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When the thread {@code dispatch} looks for work, and when it sleeps. */
@Timeout(60)
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

  /** Nobody wakes it when a held batch falls due. */
  @Test
  void shouldWakeWhenAHeldBatchIsDue() {
    EngineOptions options =
        EngineOptions.builder().spin(Duration.ZERO).maxQueueDelay(Duration.ofMillis(2)).build();
    try (LiveEngine live = new LiveEngine(options)) {
      live.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
      for (int i = 0; i < RUNS; i++) {
        LiveEngine.assertCompleted(live.submit("m", 1, 2));
      }
      live.assertWell();
    }
  }

  @Test
  void shouldLookForWorkBeforeItSleeps() {
    TurnedEngine engine = turned();
    DispatchThread dispatch =
        new DispatchThread(engine.proxy(), Long.MAX_VALUE, Watchdog.Limits.DEFAULT);
    assertThat(dispatch.isAlive()).isFalse();
    dispatch.begin();
    assertThat(dispatch.isAlive()).isTrue();
    LiveEngine.await("it has looked ten thousand times", () -> dispatch.turns() > 10_000);
    assertThat(dispatch.isParked()).isFalse();
    engine.stopBy(dispatch::close);
    engine.close();
    assertThat(dispatch.isAlive()).isFalse();
  }

  @Test
  void shouldBeWatchedFromItsStart() {
    TurnedEngine engine = turned();
    Watchdog.Limits limits = new Watchdog.Limits(Duration.ofMillis(1), Duration.ofHours(1));
    DispatchThread dispatch = DispatchThread.start(engine.proxy(), 0, limits);
    engine.stopBy(dispatch::close);
    engine
        .proxy()
        .loop()
        .pipeline()
        .calls()
        .runStarted(System.nanoTime() - TimeUnit.HOURS.toNanos(1));
    assertThat(LiveEngine.get(engine.proxy().failStop().ended()))
        .hasMessageContaining("a run on the device has taken");
    engine.close();
  }

  /** One that does not sleep turns a million times in this time; a slow machine less. */
  @Test
  void shouldSleepWhileThereIsNothingToDo() throws Exception {
    TurnedEngine engine = turned();
    DispatchThread dispatch = new DispatchThread(engine.proxy(), 0, Watchdog.Limits.DEFAULT);
    dispatch.begin();
    LiveEngine.await("it sleeps", dispatch::isParked);
    long before = dispatch.turns();
    Thread.sleep(100);
    assertThat(dispatch.turns() - before).isLessThan(10);
    assertThat(dispatch.isParked()).isTrue();
    engine.stopBy(dispatch::close);
    engine.close();
  }

  @Test
  void shouldStopWhenItSleepsAndNotForgetThatTheCloserIsInterrupted() {
    TurnedEngine engine = turned();
    DispatchThread dispatch = new DispatchThread(engine.proxy(), 0, Watchdog.Limits.DEFAULT);
    dispatch.begin();
    LiveEngine.await("it sleeps", dispatch::isParked);
    Thread.currentThread().interrupt();
    dispatch.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(dispatch.isAlive()).isFalse();
    assertThat(engine.proxy().stopHolding()).as("it takes nothing any more").isFalse();
    dispatch.close();
    assertThat(Thread.interrupted()).isFalse();
    engine.stopBy(() -> {});
    engine.close();
  }

  @Test
  void shouldEndTheEngineWhenTheLoopThrows() {
    BrittleDiscipline discipline = new BrittleDiscipline();
    TurnedEngine engine =
        new TurnedEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), discipline);
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
    DispatchThread dispatch = new DispatchThread(engine.proxy(), 0, Watchdog.Limits.DEFAULT);
    dispatch.begin();
    discipline.onChoice(
        () -> {
          throw new IllegalStateException("made by a test");
        });
    CompletableFuture<Reply> reply = engine.submit("m", 1);
    assertThat(LiveEngine.get(engine.proxy().failStop().ended()))
        .hasMessageContaining("made by a test");
    assertThat(LiveEngine.outcome(reply)).isInstanceOf(Outcome.Failed.class);
    engine.stopBy(dispatch::close);
    engine.close();
    LiveEngine.await("it is gone", () -> !dispatch.isAlive());
  }

  private static TurnedEngine turned() {
    return new TurnedEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE));
  }
}
