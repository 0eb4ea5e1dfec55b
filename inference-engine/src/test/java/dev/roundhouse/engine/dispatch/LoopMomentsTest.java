package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What whoever turns the loop is told: whether there is something to do, and until when not. */
@Timeout(30)
class LoopMomentsTest {
  private static final long RUN = 5_000_000;
  private static final long DELAY = 10_000_000;
  private static final long LOOK = 1_000_000;

  @TempDir Path repository;

  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
          new Fifo(),
          false,
          EngineOptions.builder()
              .maxQueueDelay(Duration.ofNanos(DELAY))
              .maxQueueDepth(1_000)
              .maxHandOver(1_000)
              .build());
  private final DispatchLoop loop = engine.proxy().loop();

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void shouldSayForHowLongABatchIsHeld() {
    load();
    assertThat(loop.untilNextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    CompletableFuture<Reply> held = engine.submit("m", 1);
    assertThat(engine.turn()).as("it is taken").isEqualTo(1);
    assertThat(loop.untilNextMomentNanos()).isEqualTo(DELAY);
    assertThat(loop.hasWorkNow()).isFalse();
    engine.clock().advance(DELAY - 1);
    assertThat(engine.turn()).isZero();
    assertThat(loop.untilNextMomentNanos()).isEqualTo(1);
    engine.clock().advance(2);
    assertThat(loop.untilNextMomentNanos()).as("it has come").isZero();
    engine.run();
    LiveEngine.assertCompleted(held);
  }

  @Test
  void shouldLookForTheEndOfARunThatNobodyTellsOf() {
    load();
    engine.hook(
        (call, of) -> {
          if (call == Call.ON_DONE) {
            throw new IllegalStateException("made by a test");
          }
        });
    start();
    assertThat(loop.untilNextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    loop.pipeline().wakeAtRunEnd(() -> {});
    assertThat(loop.untilNextMomentNanos()).isEqualTo(LOOK);
    engine.run();
    engine.hook((call, of) -> {});
    start();
    loop.pipeline().wakeAtRunEnd(() -> {});
    assertThat(loop.untilNextMomentNanos()).as("the next is told of").isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void shouldLookWhetherAModelThatGoesCanGo() {
    load();
    start();
    CompletableFuture<Void> gone = engine.engine().admin().unload("m");
    assertThat(engine.turn()).isEqualTo(1);
    assertThat(loop.untilNextMomentNanos()).isEqualTo(LOOK);
    assertThat(loop.hasWork()).isTrue();
    engine.run();
    assertThat(gone).isCompleted();
    assertThat(loop.untilNextMomentNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void shouldWakeOnceAtTheEndOfARun() {
    load();
    start();
    List<String> woken = new ArrayList<>();
    loop.pipeline().wakeAtRunEnd(() -> woken.add("first"));
    loop.pipeline().wakeAtRunEnd(() -> woken.add("second"));
    assertThat(loop.hasWorkNow()).isFalse();
    engine.clock().advance(RUN);
    assertThat(loop.hasWorkNow()).as("the run is over").isTrue();
    engine.run();
    assertThat(woken).containsExactly("first");
  }

  @Test
  void shouldTurnToTheDeviceThoughRequestsKeepComing() {
    load();
    List<CompletableFuture<Reply>> all = new ArrayList<>();
    for (int i = 0; i < 257; i++) {
      all.add(engine.submit("m", i));
    }
    assertThat(engine.turn()).as("256 of them, and a run").isEqualTo(257);
    assertThat(loop.hasWorkNow()).isTrue();
    engine.run();
    all.forEach(LiveEngine::assertCompleted);
  }

  @Test
  void shouldHoldNothingAnyMoreOnceItIsToldSo() {
    load();
    CompletableFuture<Reply> held = engine.submit("m", 1);
    engine.turn();
    assertThat(engine.proxy().stopHolding()).isTrue();
    assertThat(engine.turn()).as("heard, and run").isEqualTo(2);
    engine.run();
    LiveEngine.assertCompleted(held);
  }

  @Test
  void shouldRunWhatIsHeldOfAModelThatGoes() {
    load();
    CompletableFuture<Reply> held = engine.submit("m", 1);
    engine.turn();
    long began = engine.clock().nanoTime();
    CompletableFuture<Void> gone = engine.engine().admin().unload("m");
    engine.run();
    LiveEngine.assertCompleted(held);
    assertThat(gone).isCompleted();
    assertThat(engine.clock().nanoTime() - began).as("not after the delay").isEqualTo(RUN);
  }

  private void load() {
    engine.load(of -> of.load(TestBundle.doubling(2, 1, 4).write(repository, "m")));
  }

  /** Starts a run of four rows, which wait for nobody. */
  private void start() {
    for (int i = 0; i < 4; i++) {
      engine.submit("m", i);
    }
    assertThat(engine.turn()).isEqualTo(5);
  }
}
