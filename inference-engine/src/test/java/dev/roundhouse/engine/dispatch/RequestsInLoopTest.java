package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.FailStop.WatchdogException;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Wherever a request is in the loop when the engine fails or stops, it is told, and once. */
class RequestsInLoopTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  private final Throwing discipline = new Throwing();
  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
          discipline);

  // --- of an engine that fails

  @Test
  void shouldTellWhoRunsIsArmedWaitsOrIsOnItsWay() {
    load();
    List<CompletableFuture<Reply>> all = fillTheLoop();
    engine.proxy().failStop(new IllegalStateException("made by a test"));
    for (CompletableFuture<Reply> each : all) {
      assertFailed(each, "the server has failed and is stopping; send the request elsewhere");
      assertThat(began(each)).as("on the device").isEqualTo(all.indexOf(each) < 2);
    }
    assertThat(engine.engine().openRequests()).isZero();
    assertThat(engine.engine().heldBytes()).isZero();
    assertThat(engine.proxy().failStop().ended()).isCompleted();
  }

  @Test
  void shouldSayOfARequestInPiecesThatOneOfThemRan() {
    load();
    CompletableFuture<Reply> large =
        engine.submit("a", Floats.input("x", new long[] {4, 2}, new float[8]));
    engine.turn();
    arm(); // its other half
    engine.proxy().failStop(new IllegalStateException("made by a test"));
    assertThat(began(large)).isTrue();
  }

  @Test
  void shouldTellWhatTookTooLong() {
    load();
    CompletableFuture<Reply> waiting = engine.submit("a", 1);
    engine.proxy().failStop(new WatchdogException("a run has taken 3 ms"));
    assertFailed(
        waiting,
        "the server has failed and is stopping: a run has taken 3 ms; send the request elsewhere");
  }

  @Test
  void shouldTellWhoIsBetweenTheQueueAndABatch() {
    load();
    CompletableFuture<Reply> running = engine.submit("a", 1);
    engine.turn();
    CompletableFuture<Reply> armed = engine.submit("a", 2);
    arm();
    CompletableFuture<Reply> news = engine.submit("a", 3);
    engine.clock().advance(RUN);
    discipline.failing = true; // when the batch is made up again, with the third
    try {
      engine.turn();
      throw new AssertionError("the choice was to fail");
    } catch (IllegalStateException e) {
      engine.proxy().failStop(e);
    }
    for (CompletableFuture<Reply> each : List.of(running, armed, news)) {
      assertFailed(each, "the server has failed and is stopping");
    }
  }

  @Test
  void shouldTellTheOthersWhenSomebodyDoesNotListen() {
    load();
    List<CompletableFuture<Reply>> all = fillTheLoop();
    all.getFirst().thenRun(Throwing::fail);
    all.get(3).thenRun(Throwing::fail);
    engine.proxy().failStop(new IllegalStateException("made by a test"));
    all.forEach(each -> assertThat(each).isDone());
  }

  @Test
  void shouldGiveUpModelsThatComeGoOrAreAskedAboutWhenItFails() {
    load();
    engine.submit("a", 1);
    engine.turn();
    CompletableFuture<ModelStatus> coming =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "new")));
    CompletableFuture<Void> going = engine.engine().admin().unload("a");
    engine.turn();
    CompletableFuture<?> late = engine.proxy().describe(DispatchState.Scope.ALL);
    CompletableFuture<Compacted> compacted = engine.proxy().compact(List.of());
    engine.proxy().failStop().request(new IllegalStateException("made by a test"));
    engine.proxy().failStop(new IllegalStateException("made by a test"));
    assertThat(LiveEngine.get(coming).reason()).isNotEmpty();
    assertThat(going).isCompletedExceptionally();
    assertThat(late).isCancelled();
    assertThat(compacted).isCancelled();
  }

  // --- of an engine that stops

  @Test
  void shouldAnswerTheRunShedTheRestAndFreeAllWhenItStops() {
    load();
    List<CompletableFuture<Reply>> all = fillTheLoop();
    engine.close();
    Outcome.Completed answered = (Outcome.Completed) LiveEngine.outcome(all.getFirst());
    assertThat(answered.timings().computeNanos()).as("the run has ended").isEqualTo(RUN);
    LiveEngine.assertCompleted(all.get(1));
    for (CompletableFuture<Reply> each : all.subList(2, all.size())) {
      assertStopped(each);
    }
    assertThat(engine.engine().openRequests()).isZero();
    assertThat(engine.engine().heldBytes()).isZero();
    assertThat(engine.engine().reports().counters("a").orElseThrow().waiting()).isZero();
  }

  @Test
  void shouldCancelModelsThatComeOrGoWhenItStops() {
    load();
    engine.submit("a", 1);
    engine.turn();
    CompletableFuture<ModelStatus> coming =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "new")));
    engine.turn();
    CompletableFuture<ModelStatus> later =
        engine.begin(of -> of.load(TestBundle.doubling(20_000, 1).write(repository, "later")));
    engine.submit("a", 2);
    CompletableFuture<Void> going = engine.engine().admin().unload("a");
    engine.turn();
    CompletableFuture<Void> goingLater = engine.engine().admin().unload("b");
    engine.close();
    assertThat(coming).isDone();
    assertThat(later).isDone();
    assertThat(going).isCompletedExceptionally();
    assertThat(goingLater).isCompletedExceptionally();
    assertThat(engine.proxy().describe(DispatchState.Scope.ALL)).isCancelled();
    assertThat(engine.proxy().compact(List.of())).isCancelled();
    assertThat(engine.proxy().stopHolding()).isFalse();
  }

  @Test
  void shouldShedWhatIsHandedOverOnceItHasStopped() {
    load();
    engine.proxy().stop();
    assertStopped(engine.submit("a", 1)); // admission has not been closed
    engine.stopBy(() -> {});
    engine.close();
  }

  // --- of this test

  private void load() {
    engine.load(of -> of.load(TestBundle.doubling(2, 1, 2).write(repository, "a")));
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "b")));
  }

  /** Two run, two are armed, three wait, of whom one has begun, and one is on its way. */
  private List<CompletableFuture<Reply>> fillTheLoop() {
    List<CompletableFuture<Reply>> all = new ArrayList<>();
    all.add(engine.submit("a", 1));
    all.add(engine.submit("a", 2));
    engine.turn();
    assertThat(engine.executions()).as("6 + 3 to warm up").isEqualTo(10);
    // More rows than a batch takes: its first two are armed.
    all.add(engine.submit("a", Floats.input("x", new long[] {5, 2}, new float[10])));
    all.add(engine.submit("a", 4));
    all.add(engine.submit("b", 5));
    arm();
    all.add(engine.submit("b", 6));
    return all;
  }

  private void arm() {
    engine.turn();
    engine.clock().sleepUntil(engine.proxy().loop().nextMomentNanos());
    assertThat(engine.turn()).isEqualTo(1);
  }

  private static void assertFailed(CompletableFuture<Reply> reply, String text) {
    assertThat(reply).isDone();
    assertThat(reply.join().outcome())
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.UNAVAILABLE);
              assertThat(failed.message()).contains(text);
            });
  }

  private static boolean began(CompletableFuture<Reply> reply) {
    return ((Outcome.Failed) reply.join().outcome()).began();
  }

  private static void assertStopped(CompletableFuture<Reply> reply) {
    assertThat(reply).isDone();
    assertThat(reply.join().outcome())
        .isInstanceOfSatisfying(
            Outcome.Shed.class, shed -> assertThat(shed.reason()).isEqualTo(ShedReason.STOPPING));
  }

  /** Fails when a batch is charged, once it is told to. */
  private static final class Throwing extends ForwardingDiscipline {
    private boolean failing;

    Throwing() {
      super(new Fifo());
    }

    static void fail() {
      throw new CompletionException(new IllegalStateException("made by a test"));
    }

    @Override
    public void charge(int slot, long expectedNanos, long nowNanos) {
      if (failing) {
        throw new IllegalStateException("made by a test");
      }
      super.charge(slot, expectedNanos, nowNanos);
    }
  }
}
