package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests that are shorter than what their model is compiled for. */
class PaddedLengthsTest {
  private static final int PAD = 100;
  private static final Axis S = new Axis.Variable('s');

  /**
   * {@code ids i32[n,s], mask f32[n,s,2] -> hidden f32[n,s,2], sum f32[n]}: hidden is each id more
   * than the mask, the sum is that of all ids, those of the padding too.
   */
  private static TestEngine engine(boolean hostVisible) {
    TestEngine engine = TestEngine.of(ADDING, hostVisible);
    engine
        .engine()
        .admin()
        .load(
            TestImage.of(
                "lengths",
                List.of(
                    new TensorSpec("ids", DType.I32, List.of(Axis.BATCH, S))
                        .withLengths(Lengths.padded((long) PAD)),
                    new TensorSpec("mask", DType.F32, List.of(Axis.BATCH, S, new Axis.Fixed(2)))
                        .withLengths(Lengths.padded(-1.0))),
                List.of(
                    new TensorSpec("hidden", DType.F32, List.of(Axis.BATCH, S, new Axis.Fixed(2)))
                        .withLengths(Lengths.TRIMMED),
                    new TensorSpec("sum", DType.F32, List.of(Axis.BATCH))),
                List.of(new Variant(Map.of('s', 8L)), new Variant(Map.of('s', 4L))),
                List.of(1, 4)));
    engine.run();
    return engine;
  }

  private static final ReferenceFunction ADDING = PaddedLengthsTest::add;

  private static void add(
      DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results) {
    Shape shape = program.parameters().getFirst().shape();
    for (int row = 0; row < shape.dim(0); row++) {
      float sum = 0;
      for (int i = 0; i < shape.dim(1); i++) {
        long at = row * shape.dim(1) + i;
        int id = arguments.get(0).getAtIndex(ValueLayout.JAVA_INT_UNALIGNED, at);
        sum += id;
        for (int k = 0; k < 2; k++) {
          float mask = arguments.get(1).getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, at * 2 + k);
          results.get(0).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, at * 2 + k, id + mask);
        }
      }
      results.get(1).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, row, sum);
    }
  }

  /** One request, and what it is to be answered. */
  private record Asked(int rows, int length, int[] ids, float[] mask) {
    static Asked of(int rows, int length, Random random) {
      return new Asked(
          rows,
          length,
          random.ints((long) rows * length, 0, 50).toArray(),
          floats(random, rows * length * 2));
    }

    private static float[] floats(Random random, int count) {
      float[] values = new float[count];
      for (int i = 0; i < count; i++) {
        values[i] = random.nextInt(10);
      }
      return values;
    }

    InputTensor[] inputs() {
      byte[] bytes = new byte[ids.length * 4];
      MemorySegment.ofArray(bytes).copyFrom(MemorySegment.ofArray(ids));
      return new InputTensor[] {
        new InputTensor("ids", DType.I32, Shape.of(rows, length), TensorData.of(bytes)),
        Floats.input("mask", new long[] {rows, length, 2}, mask)
      };
    }

    void check(List<OutputTensor> outputs) {
      OutputTensor hidden = outputs.get(0);
      assertThat(hidden.shape()).isEqualTo(Shape.of(rows, length, 2));
      float[] expected = new float[mask.length];
      float[] sums = new float[rows];
      for (int row = 0; row < rows; row++) {
        sums[row] = PAD * (float) ((length <= 4 ? 4 : 8) - length);
        for (int i = 0; i < length; i++) {
          int id = ids[row * length + i];
          sums[row] += id;
          for (int k = 0; k < 2; k++) {
            int at = (row * length + i) * 2 + k;
            expected[at] = id + mask[at];
          }
        }
      }
      assertThat(Floats.of(hidden)).isEqualTo(expected);
      assertThat(Floats.of(outputs.get(1))).isEqualTo(sums);
    }
  }

  @ParameterizedTest
  @CsvSource({"1, true", "2, true", "3, false", "4, false"})
  void shouldAnswerRequestsOfAnyLengthAsIfEachWasAlone(long seed, boolean hostVisible) {
    Random random = new Random(seed);
    TestEngine engine = engine(hostVisible);
    for (int round = 0; round < 40; round++) {
      List<Asked> asked = new ArrayList<>();
      List<Submission> submitted = new ArrayList<>();
      for (int i = random.nextInt(12); i >= 0; i--) {
        Asked each = Asked.of(random.nextInt(6) + 1, random.nextInt(9), random);
        asked.add(each);
        submitted.add(engine.submit("lengths", each.inputs()));
        engine.clock().advance(random.nextInt(2) * 1_000L);
      }
      engine.run();
      for (int i = 0; i < asked.size(); i++) {
        asked.get(i).check(engine.completed(submitted.get(i)).outputs());
      }
    }
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRunLengthsOfOneVariantTogetherThoughOthersCameBetween() {
    TestEngine engine = engine(true);
    Random random = new Random(7);
    List<Submission> submitted = new ArrayList<>();
    for (int length : new int[] {3, 7, 4, 8, 2, 5, 1, 6}) {
      submitted.add(engine.submit("lengths", Asked.of(1, length, random).inputs()));
      engine.clock().advance(1_000);
    }
    long before = executions(engine);
    engine.run();
    assertThat(executions(engine) - before).isEqualTo(2);
    assertThat(submitted)
        .allSatisfy(each -> assertThat(engine.completed(each).timings().batchRows()).isEqualTo(4));
    assertThat(engine.finished().getFirst()).isSameAs(submitted.getFirst());
    engine.assertNothingLeaks();
  }

  private static long executions(TestEngine engine) {
    return engine.counters("lengths").get(Metric.EXECUTIONS);
  }

  @Test
  void shouldCountWhatIsPadding() {
    TestEngine engine = engine(true);
    engine.submit("lengths", Asked.of(3, 5, new Random(1)).inputs());
    engine.submit("lengths", Asked.of(2, 4, new Random(1)).inputs());
    engine.run();
    assertThat(engine.counters("lengths").get(Metric.POSITIONS)).isEqualTo(3 * 8 + 2 * 4);
    assertThat(engine.counters("lengths").get(Metric.PADDING_POSITIONS)).isEqualTo(3 * 3);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseWhatNoVariantHolds() {
    TestEngine engine = engine(true);
    Submission refused = engine.submit("lengths", Asked.of(1, 9, new Random(1)).inputs());
    assertThat(engine.outcome(refused))
        .isEqualTo(
            new Outcome.Refused(
                Status.INVALID_ARGUMENT,
                "[request id: r] model 'lengths' is not compiled for {s=9}; axes [s] may be shorter than in one of [{s=8}, {s=4}], the others must match it"));
    InputTensor[] uneven = Asked.of(1, 3, new Random(1)).inputs();
    uneven[1] = Asked.of(1, 4, new Random(1)).inputs()[1];
    assertThat(engine.outcome(engine.submit("lengths", uneven)))
        .extracting(outcome -> ((Outcome.Refused) outcome).message())
        .asString()
        .contains("axis 's' of input 'mask' for model 'lengths' is 4, but it is 3 elsewhere");
    assertThat(Arrays.asList(uneven)).hasSize(2);
    engine.assertNothingLeaks();
  }
}
