package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.LiveEngine.assertCompleted;
import static dev.roundhouse.engine.testing.LiveEngine.get;
import static dev.roundhouse.engine.testing.LiveEngine.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.testing.BrittleDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What belongs to no batch, and what never comes back, ends the engine and every open request. */
@Timeout(60)
class FailStopTest {
  private static final int SMALL = 2;

  /** A row of this is answered by the thread {@code outputs}. */
  private static final int LARGE = 70_000;

  private static final long MILLIS = 1_000_000;

  @TempDir Path repository;

  private final BrittleDiscipline discipline = new BrittleDiscipline();
  private final AtomicBoolean lost = new AtomicBoolean();
  private final CountDownLatch release = new CountDownLatch(1);
  private final List<CompletableFuture<Reply>> requests = new ArrayList<>();
  private LiveEngine engine = open(Watchdog.Limits.DEFAULT);

  @AfterEach
  void close() throws Exception {
    release.countDown();
    long began = System.nanoTime();
    engine.close();
    assertThat(System.nanoTime() - began).as("close comes back").isLessThan(10_000 * MILLIS);
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (Set.of("dispatch", "outputs", "weights", "watchdog").contains(thread.getName())) {
        assertThat(thread.join(Duration.ofSeconds(10))).as(thread.getName()).isTrue();
      }
    }
  }

  private LiveEngine open(Watchdog.Limits limits) {
    return new LiveEngine(
        EngineOptions.builder()
            .discipline(TestEngine.forDevice(discipline))
            .watchdog(limits)
            .build(),
        (program, arguments, results) -> {
          if (lost.get()) {
            throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
          }
          TestBundle.DOUBLE.apply(program, arguments, results);
        });
  }

  /** A watched engine instead of one that nobody watches for the length of a test. */
  private void watch(int deviceCallMillis, int turnMillis) {
    engine.close();
    engine =
        open(
            new Watchdog.Limits(
                Duration.ofMillis(deviceCallMillis), Duration.ofMillis(turnMillis)));
    load();
  }

  private void load() {
    engine.load(TestBundle.doubling(SMALL, 1, 4).write(repository, "small"));
    engine.load(TestBundle.doubling(LARGE, 1).write(repository, "large"));
  }

  @Test
  void shouldEndWhatRunsWaitsAndIsBeingAnsweredWhenTheChoiceOfABatchThrows() {
    load();
    deliverAndRun();
    // While "small" runs: its next batch is chosen shortly before the run is expected to end.
    discipline.onChoice(BatchlessFault::fail);
    submit("small", 3);
    assertFailedBy(BatchlessFault.class, "made by a test");
  }

  @Test
  void shouldEndTheArmedBatchWhenTheChoiceToReplaceItThrows() {
    load();
    deliverAndRun();
    submit("small", 1);
    // Shortly before the run is expected to end, which takes longer this time.
    engine.awaitArmed();
    discipline.onChoice(BatchlessFault::fail);
    submit("small", 2);
    assertFailedBy(BatchlessFault.class, "made by a test");
  }

  @Test
  void shouldEndAnEngineWhoseDeviceIsLost() {
    load();
    engine.runsTake(20 * MILLIS);
    lost.set(true);
    submit("small", 9);
    submit("large", 2);
    assertFailedBy(DeviceException.class, "made by a test");
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT", "READ"})
  void shouldEndAnEngineWhoseDeviceSaysInAnyCallThatItIsLost(Call failing) {
    load();
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == failing) {
                throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
              }
            });
    submit("small", 2);
    submit("large", 1);
    assertFailedBy(DeviceException.class, "made by a test");
  }

  @Test
  void shouldTellWhoLoadsAModelWhenTheDeviceIsLostInItsFirstRun() {
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.EXECUTE) {
                throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
              }
            });
    ModelStatus status = get(engine.engine().admin().load(TestImage.weighted("m", "1", () -> {})));
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("made by a test");
    assertThat(get(engine.engine().failed())).hasMessageContaining("made by a test");
  }

  @Test
  void shouldEndAnEngineWhoseRunNeverEnds() {
    watch(300, 20_000);
    engine.runsTake(Long.MAX_VALUE);
    submit("small", 6);
    submit("large", 1);
    assertFailedBy(FailStop.WatchdogException.class, "a run on the device has taken");
  }

  @Test
  void shouldSayThatTheEngineEndedOfAModelThatLoadsWhenARunNeverEnds() {
    watch(300, 20_000);
    engine.runsTake(Long.MAX_VALUE);
    submit("small", 1);
    CompletableFuture<ModelStatus> load =
        engine.engine().admin().load(TestBundle.doubling(SMALL, 1).write(repository, "late"));
    assertFailedBy(FailStop.WatchdogException.class, "a run on the device has taken");
    ModelStatus afterwards =
        get(engine.engine().admin().load(TestBundle.doubling(SMALL, 1).write(repository, "later")));
    for (ModelStatus status : List.of(get(load), afterwards)) {
      assertThat(status.state()).isEqualTo(ModelState.FAILED);
      assertThat(status.reason()).isEqualTo("the engine ended before it was ready");
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT", "READ"})
  void shouldEndAnEngineWhoseDeviceDoesNotComeBackFromACall(Call hanging) {
    watch(400, 400);
    hang(hanging, "small");
    submit("small", 6);
    submit("large", 1);
    assertFailedBy(FailStop.WatchdogException.class, " ms");
  }

  @Test
  void shouldEndAnEngineWhoseLargeOutputsNeverCome() {
    watch(300, 20_000);
    hang(Call.READ, "large");
    submit("large", 5);
    submit("small", 2);
    assertFailedBy(FailStop.WatchdogException.class, "reading the outputs of a run has taken");
  }

  @Test
  void shouldEndAnEngineWhoseLoopIsCaughtInATurn() {
    watch(20_000, 400);
    discipline.onChoice(this::block);
    submit("small", 6);
    submit("large", 1);
    assertFailedBy(FailStop.WatchdogException.class, "has made no progress for");
  }

  @Test
  void shouldLetARunEndThatTakesLongerThanATurnMayWhenItCloses() {
    watch(20_000, 200);
    engine.runsTake(900 * MILLIS);
    long before = engine.executions();
    submit("small", 1);
    LiveEngine.await("it runs", () -> engine.executions() > before);
    engine.close();
    assertThat(engine.engine().isAlive()).as("a run may take 20 s").isTrue();
    requests.forEach(LiveEngine::assertCompleted);
    engine = open(Watchdog.Limits.DEFAULT);
  }

  @Test
  void shouldNotTakeAnIdleOrABusyEngineForAStuckOne() {
    watch(400, 400);
    long end = System.nanoTime() + 1_500 * MILLIS;
    while (System.nanoTime() < end) {
      assertCompleted(engine.submit("small", 1, SMALL));
      assertCompleted(engine.submit("large", 1, LARGE));
    }
    LiveEngine.await("a second without work", () -> System.nanoTime() > end + 1_000 * MILLIS);
    assertCompleted(engine.submit("small", 1, SMALL));
    engine.assertWell();
  }

  /** Leaves an answer of "large" on its way and a run of "small" under way. */
  private void deliverAndRun() {
    engine.runsTake(5 * MILLIS);
    for (int i = 0; i < 20; i++) {
      assertCompleted(engine.submit("small", 1, SMALL)); // the engine knows how long runs take
    }
    CountDownLatch reading = new CountDownLatch(1);
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.READ && of.startsWith("large")) {
                reading.countDown();
                block();
              }
            });
    submit("large", 1);
    await(reading);
    engine.runsTake(500 * MILLIS);
    long before = engine.executions();
    submit("small", 1);
    LiveEngine.await("it runs", () -> engine.executions() > before);
  }

  private void submit(String model, int count) {
    for (int i = 0; i < count; i++) {
      requests.add(engine.submit(model, 1, model.equals("large") ? LARGE : SMALL));
    }
  }

  private void hang(Call hanging, String model) {
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == hanging && (call == Call.UPLOAD || of.startsWith(model))) {
                block();
              }
            });
  }

  private void block() {
    await(release);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void assertFailedBy(Class<? extends Throwable> cause, String text) {
    Engine failed = engine.engine();
    AtomicBoolean readyWhenTold = new AtomicBoolean();
    AtomicInteger told = new AtomicInteger();
    for (CompletableFuture<Reply> request : requests) {
      request.thenRun(() -> told.incrementAndGet());
      request.thenAccept(
          reply -> {
            if (reply.outcome() instanceof Outcome.Failed) {
              readyWhenTold.compareAndSet(false, failed.isReady() || failed.isServing());
            }
          });
    }
    assertThat(get(failed.failing())).isInstanceOf(cause).hasMessageContaining(text);
    assertThat(failed.isAlive()).isFalse();
    assertThat(failed.isReady()).isFalse();
    assertThat(failed.isServing()).isFalse();
    assertThat(get(failed.failed())).isInstanceOf(cause);
    for (CompletableFuture<Reply> request : requests) {
      assertThat(request).as("told by the time the engine says so").isDone();
      switch (outcome(request)) {
        case Outcome.Failed end -> assertThat(end.status()).isEqualTo(Status.UNAVAILABLE);
        case Outcome.Shed end -> assertThat(end.status()).isEqualTo(Status.UNAVAILABLE);
        case Outcome.Refused end -> assertThat(end.status()).isEqualTo(Status.UNAVAILABLE);
        default -> throw new AssertionError(outcome(request));
      }
    }
    assertThat(told).hasValue(requests.size());
    assertThat(readyWhenTold).as("ready when a caller was told of the failure").isFalse();
    assertRefused(null);
    assertRefused(new MetaRun());
    assertThat(failed.openRequests()).isZero();
    // What was blocked comes back now, and must not answer anybody a second time.
    release.countDown();
  }

  private void assertRefused(@Nullable MetaRun run) {
    ReplySink sink = new ReplySink();
    engine
        .engine()
        .submit(
            InferenceRequest.of(
                    "small", List.of(Floats.input("x", new long[] {1, SMALL}, 1, 2)), sink)
                .run(run)
                .build());
    Outcome.Refused refused = (Outcome.Refused) outcome(sink.reply());
    assertThat(refused.status()).isEqualTo(Status.UNAVAILABLE);
    assertThat(refused.message()).contains("the server has failed and is stopping");
  }

  private static final class BatchlessFault extends Error {
    private BatchlessFault() {
      super("made by a test");
    }

    static void fail() {
      throw new BatchlessFault();
    }
  }
}
