package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The thread-safe way to the loop: bounded, never waiting, and whoever sleeps is woken. */
class DispatchProxyTest {
  private static final long RUN = 1_000_000;
  private static final int MOST_COMMANDS = 1024;

  @TempDir Path repository;

  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
          new Fifo(),
          false,
          EngineOptions.builder().maxHandOver(2).build());
  private final DispatchProxy proxy = engine.proxy();
  private final DispatchLoop loop = proxy.loop();

  @Test
  void shouldRefuseARequestWhenTooManyAreOnTheirWay() {
    load("m");
    CompletableFuture<Reply> first = engine.submit("m", 1);
    CompletableFuture<Reply> second = engine.submit("m", 2);
    CompletableFuture<Reply> tooMany = engine.submit("m", 3);
    assertThat(tooMany).isDone();
    Outcome.Shed shed = (Outcome.Shed) tooMany.join().outcome();
    assertThat(shed.reason()).isEqualTo(ShedReason.NO_ROOM);
    engine.run();
    LiveEngine.assertCompleted(first);
    LiveEngine.assertCompleted(second);
    engine.close();
  }

  @Test
  void shouldWakeWhoeverTurnsTheLoopForAllThatIsHandedOver() {
    load("m");
    AtomicInteger woken = new AtomicInteger();
    proxy.wakeBy(woken::incrementAndGet);
    assertThat(loop.hasWork()).isFalse();
    assertThat(loop.hasWorkNow()).isFalse();
    engine.submit("m", 1);
    assertThat(woken).as("by a request").hasValue(1);
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).isTrue();
    engine.run();
    assertThat(engine.engine().admin().setWeight("m", 2)).isTrue();
    assertThat(woken).as("by a command").hasValue(2);
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).isTrue();
    assertThat(engine.turn()).isEqualTo(1);
    assertThat(loop.hasWorkNow()).isFalse();
    proxy.cancelled();
    assertThat(woken).as("by who takes a request back").hasValue(3);
    assertThat(loop.hasWorkNow()).isTrue();
    engine.turn();
    assertThat(loop.hasWorkNow()).isFalse();
    CompletableFuture<Void> gone = engine.engine().admin().unload("m");
    assertThat(woken).as("by a model that goes").hasValue(4);
    assertThat(loop.hasWork()).isTrue();
    assertThat(loop.hasWorkNow()).isTrue();
    assertThat(engine.turn()).as("heard of, and done").isEqualTo(2);
    assertThat(gone).isCompleted();
    engine.close();
  }

  @Test
  void shouldEndAnArmedRequestThatIsTakenBackAtOnce() {
    load("m");
    engine.submit("m", 1);
    engine.turn();
    ReplySink sink = new ReplySink();
    Submission armed =
        engine
            .engine()
            .submit(
                InferenceRequest.of("m", List.of(Floats.input("x", new long[] {1, 2}, 1, 2)), sink)
                    .build());
    engine.turn();
    engine.clock().sleepUntil(loop.nextMomentNanos());
    engine.turn();
    assertThat(loop.hasWorkNow()).as("the run goes on").isFalse();
    assertThat(armed.cancel()).isTrue();
    assertThat(loop.hasWorkNow()).isTrue();
    assertThat(engine.turn()).isEqualTo(1);
    assertThat(LiveEngine.outcome(sink.reply())).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.turn()).as("once").isZero();
    engine.run();
    engine.close();
  }

  @Test
  void shouldRefuseEveryKindOfCommandWhenTooManyWait() {
    load("m");
    List<CompletableFuture<DispatchState>> described = new ArrayList<>();
    for (int i = 0; i < MOST_COMMANDS; i++) {
      described.add(proxy.describe(DispatchState.Scope.ALL));
    }
    assertThat(described.getLast()).isNotDone();
    assertThat(proxy.describe(DispatchState.Scope.ALL)).isCancelled();
    assertThat(proxy.compact(List.of())).isCancelled();
    assertThat(proxy.stopHolding()).isFalse();
    assertThat(engine.engine().admin().setWeight("m", 2)).isFalse();
    ModelStatus refused =
        LiveEngine.get(
            engine.begin(of -> of.load(TestBundle.doubling(9_000, 1).write(repository, "more"))));
    assertThat(refused.state()).isEqualTo(ModelState.FAILED);
    assertThat(refused.reason()).contains("1024 models are waiting to be warmed up already");
    assertThat(engine.turn()).isEqualTo(MOST_COMMANDS);
    described.forEach(each -> assertThat(each).isCompleted());
    assertThat(proxy.stopHolding()).isTrue();
    engine.load(of -> of.load(TestBundle.doubling(9_000, 1).write(repository, "more")));
    CompletableFuture<Reply> served =
        engine.submit("more", Floats.input("x", new long[] {1, 9_000}, new float[9_000]));
    engine.run();
    LiveEngine.assertCompleted(served);
    engine.close();
  }

  @Test
  void shouldCancelCommandsThatTheLoopDidNotSee() {
    load("m");
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestBundle.doubling(9_000, 1).write(repository, "more")));
    CompletableFuture<DispatchState> state = proxy.describe(DispatchState.Scope.ALL);
    CompletableFuture<Compacted> compacted = proxy.compact(List.of());
    CompletableFuture<Void> gone = engine.engine().admin().unload("m");
    engine.close();
    assertThat(state).isCancelled();
    assertThat(compacted).isCancelled();
    assertThat(gone).isCompletedExceptionally();
    assertThat(LiveEngine.get(load).state()).isEqualTo(ModelState.FAILED);
  }

  @Test
  void shouldSayTheLongestTimeBetweenTwoChoicesWhileThereWasWork() {
    load("m");
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            engine.clock().advance(5_000);
          }
        });
    assertThat(engine.engine().reports().longestDispatchCycleNanos()).isZero();
    CompletableFuture<Reply> first = engine.submit("m", 1);
    engine.turn();
    assertThat(engine.engine().reports().longestDispatchCycleNanos()).as("one choice").isZero();
    engine.run();
    LiveEngine.assertCompleted(first);
    engine.clock().advance(RUN);
    assertThat(engine.turn()).isZero();
    engine.submit("m", 2);
    engine.run();
    assertThat(engine.engine().reports().longestDispatchCycleNanos())
        .as("none without work")
        .isZero();
    engine.close();
  }

  private void load(String name) {
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, name)));
  }
}
