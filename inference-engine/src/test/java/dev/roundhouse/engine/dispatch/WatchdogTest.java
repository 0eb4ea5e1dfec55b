package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.TurnedEngine.Beside;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.FailStop.WatchdogException;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.residency.WeightUploader;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.Gate;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the watchdog takes for a failure, told what time it is, and what it does then. */
@Timeout(30)
class WatchdogTest {
  private static final long MILLIS = 1_000_000;
  private static final long CALL = 200 * MILLIS;
  private static final long TURN = 50 * MILLIS;
  private static final long HOUR = 3_600_000 * MILLIS;
  private static final long NEVER = Long.MAX_VALUE / 2;
  private static final Watchdog.Limits LIMITS =
      new Watchdog.Limits(Duration.ofNanos(CALL), Duration.ofNanos(TURN));

  /** A row of this is answered by the thread {@code outputs}. */
  private static final int LARGE = 70_000;

  @TempDir Path repository;

  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(
              (program, arguments, results) ->
                  (arguments.size() == 1 ? TestBundle.DOUBLE : SmallDevice.SCALE)
                      .apply(program, arguments, results)),
          Beside.OUTPUTS,
          Beside.WEIGHTS);
  private final DispatchProxy proxy = engine.proxy();
  private final DispatchThread dispatch = new DispatchThread(proxy, 0, LIMITS);
  private final List<String> slow = new ArrayList<>();
  private final Watchdog watchdog = new Watchdog(dispatch, proxy, LIMITS, 0, slow::add);
  private final Gate gate = new Gate();
  private final long now = System.nanoTime();

  @AfterEach
  void close() {
    gate.open();
    engine.close();
  }

  // --- what it takes for a failure

  @Test
  void shouldAllowARunItsTimeAndNoMore() {
    proxy.loop().pipeline().calls().runStarted(now);
    watchdog.check(now + CALL);
    assertFails(now + CALL + 1, "a run on the device has taken 200 ms and the limit is 200 ms");
    proxy.loop().pipeline().calls().runEnded();
    watchdog.check(now + CALL + 1);
  }

  @Test
  void shouldTellOnceOfARunThatHasTakenHalfOfItsTime() {
    proxy.loop().pipeline().calls().runStarted(now);
    watchdog.check(now + CALL / 2);
    assertThat(slow).isEmpty();
    watchdog.check(now + CALL / 2 + 1);
    watchdog.check(now + CALL);
    assertThat(slow).containsExactly("a run on the device has taken 100 ms and may take 200 ms");
    proxy.loop().pipeline().calls().runStarted(now + CALL);
    watchdog.check(now + 2 * CALL);
    assertThat(slow).hasSize(2);
    proxy.loop().pipeline().calls().runEnded();
  }

  @Test
  void shouldTellOnceOfATurnThatHasTakenHalfOfItsTime() {
    proxy.loop().pipeline().calls().runStarted(now);
    watchdog.check(now); // from when on the turn is looked at
    proxy.loop().pipeline().calls().runEnded();
    watchdog.check(now + TURN / 2);
    assertThat(slow).isEmpty();
    watchdog.check(now + TURN / 2 + 1);
    watchdog.check(now + TURN);
    assertThat(slow)
        .containsExactly("the dispatch thread has made no progress for 25 ms and may take 50 ms");
  }

  @Test
  void shouldTellARunThatHangsFromOtherFailures() {
    assertThat(FailStop.isRunThatHangs(new FailStop.WatchdogException("made by a test", true)))
        .isTrue();
    assertThat(FailStop.isRunThatHangs(new FailStop.WatchdogException("made by a test"))).isFalse();
    assertThat(FailStop.isRunThatHangs(new IllegalStateException("made by a test"))).isFalse();
  }

  @Test
  void shouldAllowACallOfTheDeviceItsTimeAndNoMore() {
    proxy.loop().pipeline().calls().enter(now);
    watchdog.check(now + CALL);
    assertFails(
        now + CALL + 3 * MILLIS, "a run on the device has taken 203 ms and the limit is 200 ms");
    proxy.loop().pipeline().calls().leave();
    watchdog.check(now + CALL + 3 * MILLIS);
  }

  @Test
  void shouldAllowATurnItsTimeAndNoMore() {
    proxy.loop().pipeline().calls().runStarted(now);
    watchdog.check(now); // while a run is under way a turn is not looked at
    proxy.loop().pipeline().calls().runEnded();
    watchdog.check(now + TURN);
    assertFails(
        now + TURN + 1,
        "the dispatch thread has made no progress for 50 ms and the limit is 50 ms");
  }

  @Test
  void shouldNotTakeARunForATurn() {
    proxy.loop().pipeline().calls().runStarted(now);
    watchdog.check(now + TURN + 1);
    proxy.loop().pipeline().calls().runEnded();
    watchdog.check(now + 2 * TURN + 1); // counted from when the run was last seen
  }

  @Test
  void shouldCountFromTheLastTurnThatItSaw() {
    dispatch.begin();
    LiveEngine.await("it has turned", () -> dispatch.turns() > 0);
    engine.stopBy(() -> {});
    dispatch.close();
    watchdog.check(now + HOUR);
    watchdog.check(now + HOUR + TURN);
    assertFails(now + HOUR + TURN + 1, "the dispatch thread has made no progress for 50 ms");
  }

  @Test
  void shouldLetAThreadSleepAsLongAsThereIsNothingToDo() {
    dispatch.begin();
    engine.stopBy(dispatch::close);
    LiveEngine.await("it sleeps", () -> dispatch.isParked() && !proxy.loop().hasWork());
    watchdog.check(now + HOUR);
    watchdog.check(now + 2 * HOUR);
    assertThat(dispatch.isAlive()).isTrue();
  }

  @Test
  void shouldAllowTheReadingOfOutputsItsTimeAndNoMore() {
    engine.load(of -> of.load(TestImage.scaled("small", 2, 64)));
    engine.load(of -> of.load(TestBundle.doubling(LARGE, 1).write(repository, "large")));
    assertThat(proxy.outputsSinceNanos()).isEqualTo(DeviceCalls.NONE);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            gate.pass();
          }
        });
    CompletableFuture<Reply> reply = engine.submit("large", large());
    engine.turnUntil("its outputs are read", gate::isReached);
    long since = proxy.outputsSinceNanos();
    proxy
        .loop()
        .pipeline()
        .calls()
        .runStarted(since + CALL); // that a run is under way is no excuse
    watchdog.check(since + CALL);
    assertFails(
        since + CALL + 1, "reading the outputs of a run has taken 200 ms and the limit is 200 ms");
    gate.open();
    engine.run();
    assertThat(reply).isDone();
    assertThat(proxy.outputsSinceNanos()).isEqualTo(DeviceCalls.NONE);
    watchdog.check(since + CALL + 1);
  }

  @Test
  void shouldAllowTheUploadOfWeightsItsTimeAndNoMore() {
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            gate.pass();
          }
        });
    CompletableFuture<ModelStatus> load = engine.begin(of -> of.load(TestImage.scaled("m", 2, 64)));
    engine.turn();
    LiveEngine.await("weights are uploaded", gate::isReached);
    long since = Objects.requireNonNull(proxy.uploader()).inDeviceSinceNanos();
    assertThat(since).isNotEqualTo(WeightUploader.NOT_NOW);
    proxy.loop().pipeline().calls().runStarted(since + CALL);
    watchdog.check(since + CALL);
    assertFails(
        since + CALL + 1,
        "bringing weights to the device has taken 200 ms for one step and the limit is 200 ms");
    proxy.loop().pipeline().calls().runEnded();
    gate.open();
    engine.turnUntil("it is loaded", load::isDone);
  }

  @Test
  void shouldNotAllowLimitsOfNothing() {
    Duration least = Duration.ofMillis(1);
    assertThat(new Watchdog.Limits(least, least).turn()).isEqualTo(least);
    assertThatThrownBy(() -> new Watchdog.Limits(least, Duration.ofNanos(999_999)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new Watchdog.Limits(Duration.ofNanos(999_999), least))
        .hasMessageContaining("limits of the watchdog are 1 ms or more, got PT0.000999999S");
  }

  // --- what it does then

  @Test
  void shouldHaveASleepingThreadEndTheRequests() {
    engine.load(of -> of.load(TestImage.scaled("m", 2, 64)));
    Watchdog eager = watch(1, NEVER);
    dispatch.begin();
    engine.stopBy(dispatch::close);
    LiveEngine.await("it sleeps", dispatch::isParked);
    proxy.loop().pipeline().calls().runStarted(System.nanoTime() - HOUR);
    eager.start();
    assertThat(LiveEngine.get(proxy.failStop().ended())).isInstanceOf(WatchdogException.class);
    LiveEngine.await("it is gone", () -> !dispatch.isAlive());
    assertThat(outcome(engine.submit("m", 1))).isInstanceOf(Outcome.Refused.class);
  }

  @Test
  void shouldFailTheEngineWhenThereIsNoMemoryToTellOfWhatIsSlow() {
    Watchdog poor =
        new Watchdog(
            dispatch,
            proxy,
            LIMITS,
            NEVER,
            told -> {
              throw new OutOfMemoryError("made by a test");
            });
    dispatch.begin();
    engine.stopBy(dispatch::close);
    LiveEngine.await("it sleeps", dispatch::isParked);
    proxy.loop().pipeline().calls().runStarted(System.nanoTime() - CALL * 3 / 4);
    poor.start();
    assertThat(LiveEngine.get(proxy.failStop().ended())).isInstanceOf(WatchdogException.class);
  }

  @Test
  void shouldEndTheRequestsInThePlaceOfAThreadThatIsStuckInTheDevice() {
    engine.load(of -> of.load(TestImage.scaled("m", 2, 64)));
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE) {
            gate.pass();
          }
        });
    dispatch.begin();
    engine.stopBy(dispatch::close);
    CompletableFuture<Reply> stuck = engine.submit("m", 1);
    LiveEngine.await("it is in the device", gate::isReached);
    CompletableFuture<Reply> waiting = engine.submit("m", 2);
    assertThat(proxy.failStop().cause()).isNull();
    watch(1, 0).start();
    Throwable cause = LiveEngine.get(proxy.failStop().ended());
    assertThat(cause.getStackTrace())
        .as("where the dispatch thread is")
        .anyMatch(at -> at.getClassName().equals(Gate.class.getName()));
    for (CompletableFuture<Reply> each : List.of(stuck, waiting)) {
      assertThat(((Outcome.Failed) outcome(each)).message())
          .contains("a run on the device has taken", "it is of model 'm' version '1'");
    }
    assertThat(((Outcome.Failed) outcome(stuck)).began()).isTrue();
    assertThat(((Outcome.Failed) outcome(waiting)).began()).isFalse();
    assertThat(dispatch.isAlive()).isTrue();
    gate.open(); // what comes back now tells nobody a second time, and starts nothing
    LiveEngine.await("it is gone", () -> !dispatch.isAlive());
    assertThat(engine.engine().openRequests()).isZero();
  }

  @Test
  void shouldLeaveTheRequestsToTheThreadWhenItHasEndedThem() {
    dispatch.begin();
    engine.stopBy(dispatch::close);
    proxy.failStop().request(new IllegalStateException("made by a test"));
    dispatch.wakeForCertain();
    LiveEngine.get(proxy.failStop().ended());
    assertThat(proxy.loop().pipeline().calls().seize()).as("it is in no call").isFalse();
    Watchdog late = watch(1, NEVER);
    late.start();
    LiveEngine.await("it has nothing to do", () -> !late.isAlive());
  }

  @Test
  void shouldNotWatchOnceItIsClosed() {
    dispatch.begin();
    engine.stopBy(dispatch::close);
    Watchdog closed = watch(1, 0);
    closed.close();
    proxy.loop().pipeline().calls().runStarted(System.nanoTime() - HOUR);
    closed.start();
    LiveEngine.await("it has ended", () -> !closed.isAlive());
    assertThat(proxy.failStop().cause()).isNull();
    proxy.loop().pipeline().calls().runEnded();
  }

  private Watchdog watch(long callMillis, long graceNanos) {
    return new Watchdog(
        dispatch,
        proxy,
        new Watchdog.Limits(Duration.ofMillis(callMillis), Duration.ofHours(1)),
        graceNanos,
        told -> {});
  }

  private void assertFails(long at, String text) {
    assertThatThrownBy(() -> watchdog.check(at))
        .isInstanceOf(WatchdogException.class)
        .hasMessageContaining(text);
  }

  private static Outcome outcome(CompletableFuture<Reply> reply) {
    assertThat(reply).isDone();
    return reply.join().outcome();
  }

  private static InputTensor large() {
    return Floats.input("x", new long[] {1, LARGE}, new float[LARGE]);
  }
}
