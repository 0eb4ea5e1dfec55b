package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is copied, and what is counted instead. */
@Timeout(60)
class TeeTest extends TapFixture {
  @Test
  void shouldWrapNoSinkOfModelsThatNobodyWants() throws Exception {
    List<InputTensor> any = inputs(TensorData.of(row(1, 1)), 1);
    assertThat(tee.tapped("other", any, sink)).as("not chosen").isSameAs(sink);
    assertThat(tee.tapped("m", any, sink)).as("not read").isSameAs(sink);
    assertThat(tee.tapped("windy", any, sink)).as("there is none").isSameAs(sink);
    assertThat(tee.figures()).extracting(Tee.Figures::model).containsExactly("m");
    open("m").reader().close();
    assertThat(tee.tapped("m", any, sink)).as("not read any more").isSameAs(sink);
    try (Tee never =
        new Tee(settings(0), name -> Optional.ofNullable(models.get(name)), System::nanoTime)) {
      try (BatchReader reader = never.open("m", () -> {}).get().reader()) {
        assertThat(never.tapped("m", any, sink)).as("of the ratio 0").isSameAs(sink);
        assertThat(reader.next()).isNull();
      }
    }
  }

  @Test
  void shouldGiveWhatWasAskedWithWhatWasAnswered() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      ask(1);
      assertThat(reader.next()).isNull();
      ask(2);
      try (Batch batch = Objects.requireNonNull(reader.next())) {
        assertThat(at(batch, 0, 0, 1)).isEqualTo(1);
        assertThat(at(batch, 0, 1, 1)).isEqualTo(2);
        assertThat(at(batch, 1, 0, 1)).isEqualTo(-1);
        assertThat(at(batch, 1, 1, 1)).isEqualTo(-2);
        batch.done();
      }
      assertThat(told).containsExactly("part", "end", "part", "end");
    }
  }

  @Test
  void shouldCountWhyARowIsNotTaken() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      TensorData one = TensorData.of(row(1, 1));
      ask("m", inputs(one, 1), answer("2", 1, 1));
      assertThat(counts("m").dropped(Drop.OTHER_VERSION)).isEqualTo(1);
      ask("m", inputs(one, 1), new Made("1", List.of()));
      ask("m", inputs(TensorData.of(row(1, 2)), 2), answer("1", 1, 1));
      ask("m", List.of(), answer("1", 1, 1));
      ask("m", List.of(new InputTensor("x", DType.U64, Shape.of(1, 1), one)), answer("1", 1, 1));
      assertThat(counts("m").dropped(Drop.OTHER_TENSORS)).isEqualTo(4);
      ask("m", inputs(new Unreadable(one, false, false), 1), answer("1", 1, 1));
      ask("m", inputs(new Unreadable(one, true, true), 1), answer("1", 1, 1));
      assertThat(counts("m").dropped(Drop.UNREADABLE)).isEqualTo(2);
      ask(
          "m",
          List.of(
              new InputTensor(
                  "x",
                  DType.I64,
                  Shape.of(5, 1),
                  TensorData.of(MemorySegment.ofArray(new long[5])))),
          new Made(
              "1",
              List.of(
                  new OutputTensor(
                      "y", DType.I64, Shape.of(5, 1), MemorySegment.ofArray(new long[5])))));
      assertThat(counts("m").dropped(Drop.TOO_LARGE)).isEqualTo(5);
      assertThat(counts("m").taken()).isZero();
      assertThat(reader.next()).isNull();
      assertThat(told).hasSize(16);
    }
  }

  /** Memory that cannot be read when it comes to it, though it says that it can. */
  private record Unreadable(TensorData of, boolean isReadable, boolean waitsForDevice)
      implements TensorData {
    @Override
    public long byteSize() {
      return of.byteSize();
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      throw new IllegalStateException("gone");
    }
  }

  @Test
  void shouldLoseTheBatchOfAnInputThatIsTakenAway() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      ask(1);
      ask(
          "m",
          inputs(new Unreadable(TensorData.of(row(2, 1)), true, false), 1),
          answer("1", -2, 1));
      assertThat(reader.next()).isNull();
      assertThat(counts("m").discarded(Discard.SPOILT)).isEqualTo(2);
      ask(3);
      ask(4);
      try (Batch batch = Objects.requireNonNull(reader.next())) {
        assertThat(at(batch, 0, 0, 1)).isEqualTo(3);
      }
      assertThat(told).hasSize(8);
    }
  }

  @Test
  void shouldAnswerAtOnceWhatTooMuchWaitsBefore() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    try (BatchReader reader = open("wide").reader()) {
      TensorData held =
          new TensorData() {
            @Override
            public long byteSize() {
              return 8L * WIDE;
            }

            @Override
            public void copyTo(long offset, MemorySegment target, long at, long length) {
              entered.countDown();
              try {
                go.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            }
          };
      ask("wide", inputs(held, WIDE), answer("1", -1, WIDE)); // 160 KB of 200
      entered.await();
      assertThat(told).as("it waits for its copy").isEmpty();
      ask("wide", inputs(TensorData.of(row(2, WIDE)), WIDE), answer("1", -2, WIDE));
      assertThat(told).as("the second does not").containsExactly("part", "end");
      assertThat(counts("wide").dropped(Drop.BUSY)).isEqualTo(1);
      go.countDown();
      await(() -> told.size() == 4);
      assertThat(counts("wide").taken()).isEqualTo(1);
      assertThat(reader.next()).isNull();
    } finally {
      go.countDown();
    }
  }

  @Test
  void shouldTellTheSinkOfRequestsThatWereNotAnswered() throws Exception {
    try (BatchReader reader = open("m").reader()) {
      AnswerSink tapped = tee.tapped("m", inputs(TensorData.of(row(1, 1)), 1), sink);
      assertThat(tapped).isNotSameAs(sink);
      tapped.onEnd(Outcome.Cancelled.BY_CALLER);
      assertThat(told).containsExactly("end");
      assertThat(counts("m").taken()).isZero();
      assertThat(reader.next()).isNull();
    }
  }

  @Test
  void shouldCountARequestWithoutRowsAsOne() throws Exception {
    List<Axis> axes = List.of(new Axis.Fixed(3));
    models.put(
        "whole",
        status(
            RingTest.model(
                List.of(new TensorSpec("x", DType.I64, axes)),
                List.of(new TensorSpec("y", DType.I64, axes)))));
    try (BatchReader reader = open("whole").reader()) {
      List<InputTensor> three =
          List.of(
              new InputTensor(
                  "x", DType.I64, Shape.of(3), TensorData.of(MemorySegment.ofArray(new long[3]))));
      ask("whole", three, answer("2", 1, 1));
      assertThat(counts("whole").dropped(Drop.OTHER_VERSION)).isEqualTo(1);
      assertThat(reader.next()).isNull();
    }
  }
}
