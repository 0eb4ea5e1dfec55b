package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.PlacedData;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The simulated device fails a run whose memory changes meanwhile: what is read here was right. */
class RowsInPlaceTest {
  private static final int ROW = 2 * Float.BYTES;
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment block = filled(arena.allocate(64 * ROW, PlacedData.ALIGNMENT));

  @AfterEach
  void free() {
    arena.close();
  }

  @Test
  void shouldReadRowsOfSeveralRequestsWhereTheyLieWhenTheyAdjoin() {
    TestEngine engine = engine(true);
    Submission one = submit(engine, block, 8, 1);
    Submission two = submit(engine, block, 9, 2);
    Submission last = submit(engine, block, 11, 1);
    engine.run();
    assertThat(values(engine, one)).containsExactly(2 * 8, 2 * 8);
    assertThat(values(engine, two)).containsExactly(2 * 9, 2 * 9, 2 * 10, 2 * 10);
    assertThat(values(engine, last)).containsExactly(2 * 11, 2 * 11);
    assertInPlace(engine, 4);
  }

  @Test
  void shouldReadThePiecesOfALargeRequestWhereTheyLie() {
    TestEngine engine = engine(true);
    Submission whole = submit(engine, block, 0, 10);
    engine.run();
    float[] values = values(engine, whole);
    for (int row = 0; row < 10; row++) {
      assertThat(values[2 * row]).isEqualTo(2 * row);
    }
    // pieces of 4, 4 and 2: the second begins at a multiple of 32 only
    assertInPlace(engine, 4);
  }

  @Test
  void shouldCopyRowsThatLieApartOrInAnotherOrder() {
    TestEngine engine = engine(true);
    assertRuns(engine, new int[] {8, 9, 10, 12});
    assertRuns(engine, new int[] {8, 10, 9, 11});
    assertRuns(engine, new int[] {11, 10, 9, 8});
    assertInPlace(engine, 0);
  }

  @Test
  void shouldCopyRowsOfSeveralBlocksAndOfNone() {
    TestEngine engine = engine(true);
    MemorySegment other = filled(arena.allocate(64 * ROW, PlacedData.ALIGNMENT));
    Submission here = submit(engine, block, 8, 2);
    Submission there = submit(engine, other, 10, 2);
    engine.run();
    assertThat(values(engine, here)).containsExactly(16, 16, 18, 18);
    assertThat(values(engine, there)).containsExactly(20, 20, 22, 22);
    Submission placed = submit(engine, block, 8, 3);
    Submission heap =
        engine.submit("double", Floats.input("x", new long[] {1, 2}, 5, 6)); // it was copied
    engine.run();
    assertThat(values(engine, placed)).containsExactly(16, 16, 18, 18, 20, 20);
    assertThat(values(engine, heap)).containsExactly(10, 12);
    assertInPlace(engine, 0);
  }

  /** What lies behind them is somebody else's, and a run's padding is zeros. */
  @Test
  void shouldCopyRowsThatDoNotFillTheProgram() {
    TestEngine engine = engine(true);
    Submission three = submit(engine, block, 8, 3);
    engine.run();
    assertThat(values(engine, three)).containsExactly(16, 16, 18, 18, 20, 20);
    assertInPlace(engine, 0);
  }

  @Test
  void shouldCopyRowsThatBeginWhereADeviceReadsNone() {
    TestEngine engine = engine(true);
    assertRuns(engine, new int[] {9, 10, 11, 12});
    assertInPlace(engine, 0);
  }

  /** Its staging memory may be pinned, and rows that clients sent are not. */
  @Test
  void shouldCopyForADeviceWithMemoryOfItsOwn() {
    TestEngine engine = engine(false);
    assertRuns(engine, new int[] {8, 9, 10, 11});
    assertInPlace(engine, 0);
  }

  /** Its memory may be used again as soon as it is told, which is before the others run. */
  @Test
  void shouldNotReadWhatAMemberLeavesBehindThatIsCancelledWhenItsBatchIsArmed() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> RUN), 100);
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    Submission before = submit(engine, block, 0, 4);
    engine.step();
    Submission first = submit(engine, block, 8, 1);
    Submission second = submit(engine, block, 9, 2);
    Submission third = submit(engine, block, 11, 1);
    int[] uploads = new int[1];
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD) {
            uploads[0]++;
          }
        });
    engine.clock().advance(RUN - 1);
    engine.step();
    assertThat(uploads[0]).as("the next is armed").isEqualTo(1);
    engine.cancel(second);
    engine.step();
    assertThat(engine.outcome(second)).isInstanceOf(Outcome.Cancelled.class);
    block.asSlice(9 * ROW, 2 * ROW).fill((byte) -1);
    engine.run();
    assertThat(values(engine, before)).containsExactly(0, 0, 2, 2, 4, 4, 6, 6);
    assertThat(values(engine, first)).containsExactly(16, 16);
    assertThat(values(engine, third)).containsExactly(22, 22);
    assertInPlace(engine, 4);
  }

  @Test
  void shouldNotReadItWhenTheBatchIsAboutToRunEither() {
    TestEngine engine = engine(true);
    Submission first = submit(engine, block, 8, 1);
    Submission second = submit(engine, block, 9, 2);
    Submission third = submit(engine, block, 11, 1);
    int[] uploads = new int[1];
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && uploads[0]++ == 0) {
            engine.cancel(second);
          }
          if (call == Call.EXECUTE) {
            assertThat(engine.isOver(second)).isTrue();
            block.asSlice(9 * ROW, 2 * ROW).fill((byte) -1);
          }
        });
    engine.run();
    assertThat(engine.outcome(second)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(values(engine, first)).containsExactly(16, 16);
    assertThat(values(engine, third)).containsExactly(22, 22);
    assertThat(uploads[0]).isEqualTo(2);
    assertInPlace(engine, 0);
  }

  // --- what the tests are made of

  private TestEngine engine(boolean hostVisible) {
    TestEngine engine = TestEngine.of(TestBundle.DOUBLE, hostVisible);
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    return engine;
  }

  /** Row i is i, i. */
  private static MemorySegment filled(MemorySegment memory) {
    for (int i = 0; i < memory.byteSize() / Float.BYTES; i++) {
      int row = i / 2;
      memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, row);
    }
    return memory;
  }

  private static Submission submit(TestEngine engine, MemorySegment in, int row, int rows) {
    return engine.submit(
        "double",
        new InputTensor(
            "x",
            DType.F32,
            Shape.of(rows, 2),
            new PlacedData(in, (long) row * ROW, (long) rows * ROW, (long) rows * ROW)));
  }

  private void assertRuns(TestEngine engine, int[] rows) {
    Submission[] submitted = new Submission[rows.length];
    for (int i = 0; i < rows.length; i++) {
      submitted[i] = submit(engine, block, rows[i], 1);
    }
    engine.run();
    for (int i = 0; i < rows.length; i++) {
      assertThat(values(engine, submitted[i])).containsExactly(2 * rows[i], 2 * rows[i]);
    }
  }

  private static void assertInPlace(TestEngine engine, int rows) {
    assertThat(engine.counters("double").get(Metric.IN_PLACE_ROWS)).isEqualTo(rows);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private static float[] values(TestEngine engine, Submission submission) {
    return Floats.of(engine.completed(submission).outputs().getFirst());
  }
}
