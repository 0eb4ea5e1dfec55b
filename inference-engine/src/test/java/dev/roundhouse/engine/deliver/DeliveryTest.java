package dev.roundhouse.engine.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.BrittleDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How batches end, in the loop: who is told what, and what is counted. */
class DeliveryTest {
  private static final long RUN = 1_000_000;

  /** Members that a slot has room for at first. */
  private static final int FULL = 16;

  @TempDir Path repository;

  // --- a slot without room for more

  @Test
  void shouldAnswerEveryMemberOfABatchThatFillsItsSlot() {
    TestEngine engine = engine(FULL);
    List<Submission> members = submitEach(engine, FULL);
    engine.run();
    for (int i = 0; i < FULL; i++) {
      assertThat(Floats.of(engine.completed(members.get(i)).outputs().getFirst()))
          .containsExactly(2 * i, 2 * i);
      assertThat(engine.completed(members.get(i)).timings().batchRows()).isEqualTo(FULL);
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldTellEveryMemberOfABatchThatFillsItsSlotWhyItFailed() {
    TestEngine engine = engine(FULL);
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE) {
            throw new IllegalStateException("made by a test");
          }
        });
    List<Submission> members = submitEach(engine, FULL);
    engine.run();
    for (Submission member : members) {
      assertThat(engine.outcome(member)).isInstanceOf(Outcome.Failed.class);
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldLetGoOfTheLastMemberOfAnArmedBatchThatFillsItsSlot() {
    TestEngine engine = engine(FULL);
    submitEach(engine, 1);
    engine.step();
    List<Submission> members = submitEach(engine, FULL);
    arm(engine);
    assertThat(engine.cancel(members.getLast())).isTrue();
    engine.step();
    assertThat(engine.outcome(members.getLast())).isInstanceOf(Outcome.Cancelled.class);
    engine.run();
    members.subList(0, FULL - 1).forEach(engine::completed);
    engine.assertQuiescent();
  }

  // --- what one member's trouble costs

  @Test
  void shouldFailOnlyTheMemberWhoseRowsCannotBeRead() {
    TestEngine engine = engine(4);
    AtomicInteger reads = new AtomicInteger();
    engine.hook(
        (call, of) -> {
          if (call == Call.READ && reads.incrementAndGet() == 2) {
            throw new IllegalStateException("made by a test");
          }
        });
    List<Submission> members = submitEach(engine, 3);
    engine.run();
    engine.completed(members.get(0));
    assertThat(engine.outcome(members.get(1))).isInstanceOf(Outcome.Failed.class);
    engine.completed(members.get(2));
    engine.assertQuiescent();
  }

  @Test
  void shouldNotCountRowsOfAMemberWhoseInputsCouldNotBeRead() {
    TestEngine engine = engine(4);
    List<Submission> members = submitEach(engine, 2);
    Submission unreadable =
        engine.submit("m", new InputTensor("x", DType.F32, Shape.of(1, 2), new Unreadable(8)));
    engine.run();
    members.forEach(engine::completed);
    assertThat(engine.outcome(unreadable)).isInstanceOf(Outcome.Failed.class);
    assertThat(engine.counters("m").get(Metric.ROWS)).isEqualTo(2);
    assertThat(engine.counters("m").get(Metric.PADDING_ROWS)).isEqualTo(2);
    engine.assertQuiescent();
  }

  /** Its first piece is found to be unreadable while the last one runs. */
  @Test
  void shouldNotCountRowsOfARequestThatEndedWhileItsLastPieceRan() {
    TestEngine engine = engine(4);
    AtomicInteger reads = new AtomicInteger();
    engine.hook(
        (call, of) -> {
          if (call == Call.READ && reads.incrementAndGet() == 1) {
            throw new IllegalStateException("made by a test");
          }
        });
    Submission large = engine.submit("m", rows(5));
    Submission mate = engine.submit("m", rows(1));
    engine.run();
    assertThat(engine.outcome(large)).isInstanceOf(Outcome.Failed.class);
    assertThat(engine.completed(mate).timings().batchRows()).isEqualTo(1);
    engine.assertQuiescent();
  }

  @Test
  void shouldNotHaveTheArmedBatchChosenAgainWhenACallerOfTheRunningOneLeaves() {
    BrittleDiscipline counted = new BrittleDiscipline();
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(name -> RUN),
            EngineOptions.builder().discipline(TestEngine.forDevice(counted)).build());
    engine.load(TestBundle.doubling(2, 4).write(repository, "m"));
    Submission running = submitEach(engine, 1).getFirst();
    engine.step();
    List<Submission> armed = submitEach(engine, 4);
    AtomicInteger choices = new AtomicInteger();
    counted.onChoice(choices::incrementAndGet);
    arm(engine);
    assertThat(engine.cancel(running)).isTrue();
    engine.step();
    engine.clock().advance(RUN);
    engine.step();
    assertThat(choices).hasValue(1);
    engine.run();
    assertThat(engine.outcome(running)).isInstanceOf(Outcome.Cancelled.class);
    armed.forEach(engine::completed);
    engine.assertQuiescent();
  }

  // --- where the time went

  @Test
  void shouldSayHowLongItTookToReadTheOutputs() {
    TestEngine engine = engine(4);
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            engine.clock().advance(7);
          }
        });
    List<Submission> members = submitEach(engine, 3);
    engine.run();
    for (Submission member : members) {
      assertThat(engine.completed(member).timings().computeOutputNanos()).isEqualTo(3 * 7);
    }
  }

  @Test
  void shouldNotTakeTheTimeForLargeInputsForTimeInTheQueue() {
    int width = 8_000;
    TestEngine engine = engine(4);
    engine.load(TestBundle.doubling(width, 1).write(repository, "large"));
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            engine.clock().advance(7);
          }
        });
    Submission request =
        engine.submit("large", Floats.input("x", new long[] {1, width}, new float[width]));
    engine.run();
    assertThat(engine.completed(request).timings().computeInputNanos()).isEqualTo(7);
    assertThat(engine.completed(request).timings().queueNanos()).isZero();
  }

  @Test
  void shouldCountHowLongRequestsHaveWaited() {
    TestEngine engine = engine(1);
    submitEach(engine, 3);
    engine.run();
    assertThat(engine.counters("m").get(Metric.QUEUE_WAIT)).isEqualTo(RUN + 2 * RUN);
  }

  @Test
  void shouldCountHowLongRequestsHaveWaitedWhoseAnswersAreLarge() {
    int width = 70_000;
    try (LiveEngine engine =
        new LiveEngine(EngineOptions.builder().discipline(Fifo::new).build())) {
      engine.load(TestBundle.doubling(width, 1).write(repository, "large"));
      engine.runsTake(5 * RUN);
      List<CompletableFuture<Reply>> replies = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        replies.add(engine.submit("large", 1, width));
      }
      long waited = 0;
      for (CompletableFuture<Reply> reply : replies) {
        waited += LiveEngine.get(reply).timings().queueNanos();
      }
      assertThat(waited).isPositive();
      assertThat(engine.engine().reports().counters("large").orElseThrow().get(Metric.QUEUE_WAIT))
          .isEqualTo(waited);
    }
  }

  // --- a device with memory of its own

  /** The first output ends in the middle of a 64-byte line, and both together just fill pages. */
  @Test
  void shouldReadOutputsOfADeviceWithItsOwnMemoryThatAreNotWholeLines() {
    int width = (8192 - 32 - 4) / 4;
    TestEngine engine =
        TestEngine.of(
            (program, arguments, results) -> {
              results.get(0).set(ValueLayout.JAVA_FLOAT_UNALIGNED, 0, 3);
              results.get(1).set(ValueLayout.JAVA_FLOAT_UNALIGNED, 0, 4);
              results.get(1).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, width - 1, 5);
            },
            false);
    ModelImage image =
        TestImage.of(
            "m",
            List.of(TestImage.tensor("x", Axis.BATCH)),
            List.of(
                TestImage.tensor("short", Axis.BATCH),
                TestImage.tensor("long", Axis.BATCH, new Axis.Fixed(width))),
            List.of(),
            1);
    assertThat(engine.engine().admin().load(image).join().state()).isEqualTo(ModelState.READY);
    Submission request = engine.submit("m", Floats.input("x", new long[] {1}, 1));
    engine.run();
    assertThat(Floats.of(engine.completed(request).outputs().get(0))).containsExactly(3);
    assertThat(Floats.of(engine.completed(request).outputs().get(1)))
        .hasSize(width)
        .startsWith(4)
        .endsWith(5);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private TestEngine engine(int batchSize) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(name -> RUN),
            EngineOptions.builder().discipline(Fifo::new).build());
    engine.load(TestBundle.doubling(2, batchSize).write(repository, "m"));
    return engine;
  }

  /** Requests of one row each, of 0, 1, 2 and so on. */
  private static List<Submission> submitEach(TestEngine engine, int count) {
    List<Submission> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(engine.submit("m", Floats.input("x", new long[] {1, 2}, i, i)));
    }
    return all;
  }

  private static void arm(TestEngine engine) {
    engine.clock().advance(RUN - 50_000);
    engine.step();
    assertThat(engine.state().armed()).isEqualTo("m");
  }

  private static InputTensor rows(int rows) {
    return Floats.input("x", new long[] {rows, 2}, new float[2 * rows]);
  }

  private record Unreadable(long byteSize) implements TensorData {
    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      throw new IllegalStateException("made by a test");
    }
  }
}
