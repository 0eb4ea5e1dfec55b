package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Inputs of several requests in one batch: {@code x f32[n,1], z f32[2,n], w0 f32[1] -> y f32[n]},
 * which is {@code x * w0 + z[0] + z[1]}.
 */
class BatchInputsTest {
  private static final TensorSpec X = TestImage.tensor("x", Axis.BATCH, new Axis.Fixed(1));
  private static final TensorSpec Z = TestImage.tensor("z", new Axis.Fixed(2), Axis.BATCH);
  private static final TensorSpec Y = TestImage.tensor("y", Axis.BATCH);

  /** What the device saw last, input by input. */
  private final List<float[]> seen = new ArrayList<>();

  private final TestEngine engine =
      TestEngine.of((program, arguments, results) -> run(arguments, results.getFirst()));

  private void run(List<MemorySegment> arguments, MemorySegment y) {
    seen.clear();
    arguments.forEach(
        argument ->
            seen.add(
                MemorySegment.ofArray(argument.toArray(ValueLayout.JAVA_BYTE))
                    .toArray(ValueLayout.JAVA_FLOAT_UNALIGNED)));
    float[] x = seen.get(0);
    float[] z = seen.get(1);
    float[] w0 = seen.get(2);
    int rows = x.length;
    for (int row = 0; row < rows; row++) {
      y.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, row, x[row] * w0[0] + z[row] + z[rows + row]);
    }
  }

  @Test
  void shouldLayOutEachRequestsRowsOfEveryInputWhateverTheBatchAxis() {
    load(4);
    Submission one = submit(1);
    Submission three = submit(2, 3, 4);
    engine.run();
    assertThat(seen.get(0)).containsExactly(1, 2, 3, 4);
    assertThat(seen.get(1)).containsExactly(10, 20, 30, 40, 100, 200, 300, 400);
    assertY(one, 1);
    assertY(three, 2, 3, 4);
    done();
  }

  @Test
  void shouldTakeEveryPieceOfALargeRequestFromItsPlace() {
    load(4);
    float[] values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    Submission large = submit(values);
    engine.run();
    assertY(large, values);
    assertThat(seen.get(1))
        .as("the last two rows, padded")
        .containsExactly(90, 100, 0, 0, 900, 1000, 0, 0);
    done();
  }

  @Test
  void shouldRunZerosWhereAMembersInputsCouldNotBeRead() {
    load(4);
    submit(7, 7, 7, 7);
    engine.run();
    Submission one = submit(1);
    Submission unreadable =
        engine.submit(
            "m",
            Floats.input("x", new long[] {2, 1}, 5, 5),
            new InputTensor("z", DType.F32, Shape.of(2, 2), new Unreadable(16)));
    Submission other = submit(2);
    engine.run();
    assertThat(engine.outcome(unreadable)).isInstanceOf(Outcome.Failed.class);
    assertThat(seen.get(0)).as("what it had already copied is wiped").containsExactly(1, 0, 0, 2);
    assertThat(seen.get(1)).containsExactly(10, 0, 0, 20, 100, 0, 0, 200);
    assertY(one, 1);
    assertY(other, 2);
    done();
  }

  @Test
  void shouldHoldAsManyMembersAsTheProgramHasRows() {
    load(64);
    List<Submission> all = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      all.add(submit(i));
    }
    engine.run();
    for (int i = 0; i < 64; i++) {
      assertThat(engine.completed(all.get(i)).timings().batchRows()).isEqualTo(64);
      assertY(all.get(i), i);
    }
    done();
  }

  @Test
  void shouldRunRequestsAloneWhenAnOutputHasNoBatchAxis() {
    TensorSpec total = TestImage.tensor("total", new Axis.Fixed(3));
    load(TestImage.of("m", List.of(X, Z), List.of(Y, total), List.of(new float[] {5}), 1, 4));
    Submission first = submit(1, 2, 3, 4);
    Submission second = submit(5);
    Submission between = submit(6, 7);
    engine.run();
    assertY(first, 1, 2, 3, 4);
    assertY(second, 5);
    for (Submission request : List.of(first, second)) {
      assertThat(engine.completed(request).outputs().getLast().shape()).isEqualTo(Shape.of(3));
    }
    assertThat(((Outcome.Refused) engine.outcome(between)).message())
        .contains("batch-size must be one of [1, 4] for 'm', got 2");
    done();
  }

  @Test
  void shouldLeaveNothingOnTheDeviceWhenAnUploadIsRefused() {
    load(4);
    AtomicInteger uploads = new AtomicInteger();
    int before = engine.device().openHandles();
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && uploads.incrementAndGet() == 2) {
            throw new IllegalStateException("made by a test");
          }
        });
    Submission refused = submit(1);
    engine.run();
    assertThat(engine.outcome(refused)).isInstanceOf(Outcome.Failed.class);
    assertThat(engine.device().openHandles()).isEqualTo(before);
    Submission next = submit(2);
    engine.run();
    assertY(next, 2);
    assertThat(engine.device().openHandles()).isEqualTo(before);
    done();
  }

  private void load(int batchSize) {
    load(TestImage.of("m", List.of(X, Z), List.of(Y), List.of(new float[] {5}), batchSize));
  }

  private void load(ModelImage image) {
    ModelStatus status = engine.engine().admin().load(image).join();
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private Submission submit(float... values) {
    return engine.submit("m", x(values), z(values));
  }

  private static InputTensor x(float... values) {
    return Floats.input("x", new long[] {values.length, 1}, values);
  }

  /** Ten and a hundred times the values. */
  private static InputTensor z(float... values) {
    int rows = values.length;
    float[] both = new float[2 * rows];
    for (int row = 0; row < rows; row++) {
      both[row] = 10 * values[row];
      both[rows + row] = 100 * values[row];
    }
    return Floats.input("z", new long[] {2, rows}, both);
  }

  private void assertY(Submission request, float... values) {
    float[] y = Floats.of(engine.completed(request).outputs().getFirst());
    assertThat(y).hasSize(values.length);
    for (int row = 0; row < values.length; row++) {
      assertThat(y[row]).as("row %d", row).isEqualTo(115 * values[row]);
    }
  }

  private void done() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private record Unreadable(long byteSize) implements TensorData {
    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      throw new IllegalStateException("made by a test");
    }
  }
}
