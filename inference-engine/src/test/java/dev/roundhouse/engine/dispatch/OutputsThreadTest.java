package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.TurnedEngine.Beside;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.Gate;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large outputs are copied beside the loop, which goes on with other batches. */
@Timeout(30)
class OutputsThreadTest {
  /** As many numbers as make the largest outputs that the loop copies itself. */
  private static final int LARGEST_INLINE = 65_536;

  private static final int LARGE = LARGEST_INLINE + 1;

  @TempDir Path repository;

  private final TurnedEngine engine =
      new TurnedEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), Beside.OUTPUTS);
  private final DispatchProxy proxy = engine.proxy();
  private final DispatchLoop loop = proxy.loop();
  private final Gate gate = new Gate();
  private final List<String> readers = new ArrayList<>();

  @AfterEach
  void close() {
    gate.open();
    engine.close();
  }

  @Test
  void shouldHaveLargeOutputsCopiedBesideTheLoopAndOthersByIt() {
    load("large", LARGE);
    load("small", LARGEST_INLINE);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            synchronized (readers) {
              readers.add(Thread.currentThread().getName());
            }
          }
        });
    CompletableFuture<Reply> large = submit("large", LARGE);
    engine.run();
    CompletableFuture<Reply> small = submit("small", LARGEST_INLINE);
    engine.run();
    LiveEngine.assertCompleted(large);
    LiveEngine.assertCompleted(small);
    assertThat(readers).containsExactly("outputs", Thread.currentThread().getName());
  }

  @Test
  void shouldServeOthersMeanwhileAndHaveWorkUntilAllAreAnswered() {
    load("large", LARGE);
    load("small", 2);
    AtomicInteger woken = new AtomicInteger();
    proxy.wakeBy(woken::incrementAndGet);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ && of.startsWith("large")) {
            gate.pass();
          }
        });
    CompletableFuture<Reply> large = submit("large", LARGE);
    engine.turnUntil("it is being read", gate::isReached);
    assertThat(proxy.outputsSinceNanos()).isLessThanOrEqualTo(System.nanoTime());
    CompletableFuture<Reply> small = engine.submit("small", 1);
    engine.turnUntil("the other is answered", small::isDone);
    assertThat(engine.turn()).isZero();
    assertThat(large).isNotDone();
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).as("its end is waited for").isFalse();
    int before = woken.get();
    gate.open();
    LiveEngine.await("the loop is woken", () -> woken.get() > before);
    assertThat(proxy.outputsSinceNanos()).isEqualTo(DeviceCalls.NONE);
    LiveEngine.assertCompleted(large);
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).as("a slot comes back").isTrue();
    assertThat(engine.turn()).isEqualTo(1);
    assertThat(loop.hasWork()).isFalse();
    assertThat(loop.hasWorkNow()).isFalse();
  }

  @Test
  void shouldBeginNothingWhileEveryBatchIsBeingAnswered() {
    load("large", LARGE);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            gate.pass();
          }
        });
    long before = engine.executions();
    List<CompletableFuture<Reply>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(submit("large", LARGE));
    }
    engine.turnUntil("three have run", () -> engine.executions() == before + 3);
    while (engine.turn() > 0) {
      Thread.onSpinWait();
    }
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).isFalse();
    assertThat(loop.nextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    assertThat(loop.untilNextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    CompletableFuture<DispatchState> asked = proxy.describe(DispatchState.Scope.ALL);
    engine.turn();
    Waiting why = Objects.requireNonNull(asked.join().models().getFirst().waiting());
    assertThat(why.reason()).isEqualTo("batch-slot");
    assertThat(why.words())
        .isEqualTo(
            "1st in line; all 3 batch slots are taken by answers that are being read from the device");
    gate.open();
    engine.run();
    all.forEach(LiveEngine::assertCompleted);
  }

  @Test
  void shouldEndTheEngineBeforeAnybodyIsToldThatTheDeviceIsLost() {
    load("large", LARGE);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
          }
        });
    CompletableFuture<Reply> large = submit("large", LARGE);
    CompletableFuture<Boolean> aliveWhenTold =
        large.thenApply(reply -> proxy.failStop().cause() == null);
    engine.turnUntil("it has failed", () -> proxy.failStop().cause() != null);
    assertThat(LiveEngine.get(aliveWhenTold)).isFalse();
    assertThat(LiveEngine.outcome(large)).isInstanceOf(Outcome.Failed.class);
    assertThat(proxy.failStop().cause()).hasMessageContaining("made by a test");
    engine.stopBy(() -> {});
  }

  @Test
  void shouldTellWhoseOutputsCannotBeReadAndServeOn() {
    load("large", LARGE);
    AtomicInteger failures = new AtomicInteger(1);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ && failures.getAndDecrement() > 0) {
            throw new DeviceException(DeviceException.Code.INTERNAL, "made by a test");
          }
        });
    CompletableFuture<Reply> unlucky = submit("large", LARGE);
    engine.run();
    CompletableFuture<Reply> lucky = submit("large", LARGE);
    engine.run();
    assertThat(LiveEngine.outcome(unlucky)).isInstanceOf(Outcome.Failed.class);
    LiveEngine.assertCompleted(lucky);
    assertThat(proxy.failStop().cause()).isNull();
  }

  @Test
  void shouldAnswerWhatItHasBeforeItCloses() {
    load("large", LARGE);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            gate.pass();
          }
        });
    CompletableFuture<Reply> first = submit("large", LARGE);
    engine.turnUntil("it is being read", gate::isReached);
    CompletableFuture<Reply> second = submit("large", LARGE);
    engine.turnUntil("the other waits to be", () -> loop.hasWork() && engine.turn() == 0);
    Thread closing = Thread.ofPlatform().start(proxy::stop);
    LiveEngine.await("it waits for the thread", () -> closing.getState() == Thread.State.WAITING);
    gate.open();
    LiveEngine.await("it has closed", () -> !closing.isAlive());
    engine.stopBy(() -> {});
    LiveEngine.assertCompleted(first);
    LiveEngine.assertCompleted(second);
  }

  private void load(String name, int width) {
    engine.load(of -> of.load(TestBundle.doubling(width, 1).write(repository, name)));
  }

  private CompletableFuture<Reply> submit(String model, int width) {
    return engine.submit(model, Floats.input("x", new long[] {1, width}, new float[width]));
  }
}
