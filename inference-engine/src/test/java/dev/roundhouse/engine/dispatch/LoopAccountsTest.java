package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What models are charged for their batches, and what is counted of them, whatever happens. */
class LoopAccountsTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  private final Ledger ledger = new Ledger();
  private final AtomicLong runNanos = new AtomicLong(RUN);
  private final TurnedEngine engine =
      new TurnedEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
              .withExecutionNanos(program -> runNanos.get()),
          ledger);

  // --- charges

  @Test
  void shouldChargeABatchByWhatItsRunTook() {
    load("m");
    runNanos.set(3 * RUN);
    engine.submit("m", 1);
    engine.turn();
    assertThat(ledger.charged).as("what was expected").isEqualTo(RUN);
    engine.run();
    assertThat(ledger.charged).isEqualTo(3 * RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldChargeARunThatFailedForTheTimeItHeldTheDevice() {
    load("m");
    failOnce(Call.AWAIT, DeviceException.Code.INTERNAL);
    CompletableFuture<Reply> failed = engine.submit("m", 1);
    engine.run();
    assertThat(LiveEngine.outcome(failed)).isInstanceOf(Outcome.Failed.class);
    assertThat(ledger.charged).isEqualTo(RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldGiveBackWhatWasChargedForARunThatDidNotStart() {
    load("m");
    failOnce(Call.EXECUTE, DeviceException.Code.INTERNAL);
    CompletableFuture<Reply> failed = engine.submit("m", 1);
    engine.run();
    assertThat(LiveEngine.outcome(failed)).isInstanceOf(Outcome.Failed.class);
    assertThat(ledger.charged).isZero();
    assertBooksAreClosed();
  }

  @Test
  void shouldGiveBackWhatWasChargedForAnArmedBatchThatNobodyWantsAnyMore() {
    load("m");
    for (int round = 0; round < 4; round++) { // more than there are slots
      engine.submit("m", 1);
      engine.turn();
      Submission armed = submission(2);
      arm();
      assertThat(armed.cancel()).isTrue();
      engine.run();
      assertThat(ledger.charged).isEqualTo((round + 1) * RUN);
    }
    assertBooksAreClosed();
  }

  @Test
  void shouldChargeOnceForABatchThatIsMadeUpAgain() {
    load("m");
    engine.submit("m", 1);
    engine.turn();
    engine.submit("m", 2);
    arm();
    engine.submit("m", 3);
    engine.run();
    assertThat(ledger.charged).isEqualTo(3 * RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldGiveBackWhatWasChargedForABatchWhoseOnlyInputCannotBeRead() {
    load("m");
    long before = engine.executions();
    for (int round = 0; round < 4; round++) {
      CompletableFuture<Reply> unreadable = engine.submit("m", unreadable());
      engine.run();
      assertThat(LiveEngine.outcome(unreadable)).isInstanceOf(Outcome.Failed.class);
    }
    assertThat(engine.executions()).isEqualTo(before);
    assertThat(ledger.charged).isZero();
    assertThat(engine.engine().reports().counters("m").orElseThrow().waiting()).isZero();
    assertBooksAreClosed();
  }

  @Test
  void shouldGiveBackWhatWasChargedForAnArmedBatchWhenTheEngineStops() {
    load("m");
    engine.submit("m", 1);
    engine.turn();
    engine.submit("m", 2);
    arm();
    engine.close();
    assertThat(ledger.open).isEmpty();
    assertThat(ledger.charged).isEqualTo(RUN);
  }

  @Test
  void shouldWarmUpFreeOfChargeWhileNobodyElseWantsTheDevice() {
    load("m");
    assertThat(ledger.entries).isZero();
    load("n");
    assertThat(ledger.entries).isZero();
    assertBooksAreClosed();
  }

  @Test
  void shouldChargeWarmingUpThatOthersWaitFor() {
    load("m");
    List<CompletableFuture<Reply>> waiting = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      waiting.add(engine.submit("m", i));
    }
    engine.turn();
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "n")));
    engine.turnUntil("it is loaded", load::isDone);
    engine.run();
    waiting.forEach(LiveEngine::assertCompleted);
    assertThat(ledger.charged).as("ten runs, and three to warm up").isEqualTo(13 * RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldGiveBackWhatWasChargedForAWarmUpThatDidNotStart() {
    load("m");
    for (int i = 0; i < 3; i++) {
      engine.submit("m", i);
    }
    engine.turn();
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE && of.startsWith("n")) {
            throw new DeviceException(DeviceException.Code.INTERNAL, "made by a test");
          }
        });
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "n")));
    engine.turnUntil("it is refused", load::isDone);
    assertThat(load.join().reason()).contains("made by a test");
    engine.run();
    assertThat(ledger.charged).isEqualTo(3 * RUN);
    assertThat(ledger.open).isEmpty();
    engine.close();
  }

  /** A command is news: the armed batch is looked at again. */
  @Test
  void shouldRunAnArmedWarmUpWhateverComesMeanwhile() {
    load("m");
    engine.submit("m", 1);
    engine.turn();
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "n")));
    engine.turn();
    engine.clock().sleepUntil(engine.proxy().loop().nextMomentNanos());
    assertThat(engine.turn()).as("armed").isEqualTo(1);
    assertThat(engine.engine().admin().setWeight("m", 3)).isTrue();
    engine.turnUntil("it is loaded", load::isDone);
    assertBooksAreClosed();
  }

  // --- counts

  @Test
  void shouldCountRunsRowsAndTheTimeOfTheDevice() {
    load("m");
    engine.submit("m", 1);
    engine.submit("m", 2);
    engine.run();
    ModelReport report = engine.engine().reports().details("m").orElseThrow();
    assertThat(report.counts().get(Metric.EXECUTIONS)).isEqualTo(2);
    assertThat(report.counts().get(Metric.COMPUTE)).isEqualTo(2 * RUN);
    assertThat(report.programs().getFirst().runs()).isEqualTo(2);
    assertThat(report.programs().getFirst().rows()).isEqualTo(2);
    assertBooksAreClosed();
  }

  @Test
  void shouldTimeTheCopyOfLargeInputs() {
    int width = 5_000; // 20 kB
    engine.load(of -> of.load(TestBundle.doubling(width, 1).write(repository, "wide")));
    uploadsTake(7_000);
    CompletableFuture<Reply> reply =
        engine.submit("wide", Floats.input("x", new long[] {1, width}, new float[width]));
    engine.run();
    Outcome.Timings timings = LiveEngine.get(reply).timings();
    assertThat(timings.computeInputNanos()).isEqualTo(7_000);
    assertThat(timings.queueNanos()).isZero();
    assertThat(timings.computeNanos()).isEqualTo(RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldNotTimeTheCopyOfSmallInputs() {
    int width = 4_096; // 16 KiB
    engine.load(of -> of.load(TestBundle.doubling(width, 1).write(repository, "narrow")));
    uploadsTake(7_000);
    CompletableFuture<Reply> reply =
        engine.submit("narrow", Floats.input("x", new long[] {1, width}, new float[width]));
    engine.run();
    assertThat(LiveEngine.get(reply).timings().computeInputNanos()).isZero();
    assertThat(LiveEngine.get(reply).timings().computeNanos()).isEqualTo(RUN + 7_000);
    assertBooksAreClosed();
  }

  /** Who has been computed is not to wait for the next run as well. */
  @Test
  void shouldAnswerBeforeARunThatHappensInTheCall() {
    runNanos.set(0);
    load("m");
    List<CompletableFuture<Reply>> first = new ArrayList<>();
    List<Boolean> answered = new ArrayList<>();
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE) {
            engine.clock().advance(50_000);
            answered.add(first.getLast().isDone());
          } else if (call == Call.READ) {
            engine.clock().advance(3_000);
          }
        });
    first.add(engine.submit("m", 0));
    engine.run();
    first.add(engine.submit("m", 1));
    CompletableFuture<Reply> second = engine.submit("m", 2);
    engine.run();
    assertThat(answered).containsExactly(false, false, true);
    assertThat(LiveEngine.get(second).timings().queueNanos())
        .as("a run, and the answer to it")
        .isEqualTo(53_000);
    assertBooksAreClosed();
  }

  @Test
  void shouldChargeOnceForARunThatIsStartedAgain() {
    loadWeighted("m");
    loadWeighted("other"); // leaves for it
    failOnce(Call.EXECUTE, DeviceException.Code.OUT_OF_MEMORY);
    CompletableFuture<Reply> reply = engine.submit("m", 1);
    engine.run();
    LiveEngine.assertCompleted(reply);
    assertThat(ledger.charged).isEqualTo(RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldChargeForARunThatFailedAndForTheOneThatIsMadeInstead() {
    loadWeighted("m");
    loadWeighted("other");
    failOnce(Call.AWAIT, DeviceException.Code.OUT_OF_MEMORY);
    CompletableFuture<Reply> reply = engine.submit("m", 1);
    engine.run();
    LiveEngine.assertCompleted(reply);
    assertThat(ledger.charged).as("both held the device").isEqualTo(2 * RUN);
    assertBooksAreClosed();
  }

  @Test
  void shouldSayTheLongestTimeBetweenTwoChoicesWhileThereWasWork() {
    runNanos.set(0);
    load("m");
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE) {
            engine.clock().advance(5_000);
          }
        });
    engine.submit("m", 1);
    engine.submit("m", 2);
    engine.run();
    assertThat(engine.engine().reports().longestDispatchCycleNanos()).isEqualTo(5_000);
    engine.clock().advance(RUN);
    assertThat(engine.turn()).isZero();
    engine.submit("m", 3);
    engine.run();
    assertThat(engine.engine().reports().longestDispatchCycleNanos()).isEqualTo(5_000);
    assertBooksAreClosed();
  }

  private void loadWeighted(String name) {
    engine.load(of -> of.load(TestBundle.weighted(64).write(repository, name)));
  }

  private static InputTensor unreadable() {
    return new InputTensor(
        "x",
        DType.F32,
        Shape.of(1, 2),
        new TensorData() {
          @Override
          public long byteSize() {
            return 8;
          }

          @Override
          public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
            throw new IllegalStateException("made by a test");
          }
        });
  }

  private void load(String name) {
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, name)));
  }

  private void arm() {
    engine.turn();
    engine.clock().sleepUntil(engine.proxy().loop().nextMomentNanos());
    assertThat(engine.turn()).as("armed").isEqualTo(1);
  }

  private void uploadsTake(long nanos) {
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            engine.clock().advance(nanos);
          }
        });
  }

  private void failOnce(Call failing, DeviceException.Code code) {
    AtomicInteger left = new AtomicInteger(1);
    engine.hook(
        (call, of) -> {
          if (call == failing && left.getAndDecrement() > 0) {
            throw new DeviceException(code, "made by a test");
          }
        });
  }

  private Submission submission(float value) {
    return engine
        .engine()
        .submit(
            InferenceRequest.of(
                    "m",
                    List.of(Floats.input("x", new long[] {1, 2}, value, value)),
                    new ReplySink())
                .build());
  }

  private void assertBooksAreClosed() {
    assertThat(ledger.open).as("charged and not yet corrected").isEmpty();
    assertThat(engine.engine().openRequests()).isZero();
    assertThat(engine.engine().heldBytes()).isZero();
    engine.close();
  }

  /** Keeps account of what is charged to all models together. */
  private static final class Ledger extends ForwardingDiscipline {
    private final List<Long> open = new ArrayList<>();
    private long charged;
    private int entries;

    Ledger() {
      super(new Fifo());
    }

    @Override
    public void charge(int slot, long expectedNanos, long nowNanos) {
      entries++;
      open.add(expectedNanos);
      charged += expectedNanos;
      super.charge(slot, expectedNanos, nowNanos);
    }

    @Override
    public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
      assertThat(open.remove(expectedNanos)).as("it was charged").isTrue();
      charged += deviceNanos - expectedNanos;
      super.correct(slot, expectedNanos, deviceNanos, nowNanos);
    }
  }
}
