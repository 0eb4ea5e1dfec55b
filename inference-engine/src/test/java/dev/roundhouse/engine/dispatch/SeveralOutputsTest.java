package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code x f32[n,1] -> wide f32[n,33], last f32[2,n]}: outputs of other sizes and another axis. */
@ParameterizedClass(name = "the host reads device memory in place: {0}")
@ValueSource(booleans = {true, false})
class SeveralOutputsTest {
  private static final int WIDE = 33;

  private final TestEngine engine;

  SeveralOutputsTest(boolean hostVisible) {
    engine = TestEngine.of((program, arguments, results) -> run(arguments, results), hostVisible);
  }

  private static void run(List<MemorySegment> arguments, List<MemorySegment> results) {
    int rows = (int) (arguments.getFirst().byteSize() / 4);
    for (int row = 0; row < rows; row++) {
      float x = get(arguments.getFirst(), row);
      for (int column = 0; column < WIDE; column++) {
        set(results.get(0), row * WIDE + column, x + column);
      }
      set(results.get(1), row, 10 * x);
      set(results.get(1), rows + row, 100 * x);
    }
  }

  @BeforeEach
  void load() {
    assertThat(engine.engine().admin().load(image()).join().state()).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldGiveEachCallerItsRowsOfEveryOutputWhateverTheBatchAxis() {
    Submission one = submit(List.of(), 1);
    Submission two = submit(List.of(), 2, 3);
    engine.run();
    assertThat(engine.completed(two).timings().batchRows()).as("together").isEqualTo(3);
    assertOutputs(one, 1);
    assertOutputs(two, 2, 3);
    done();
  }

  @Test
  void shouldPutPiecesTogetherAlongEveryOutputsOwnAxis() {
    float[] values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    Submission large = submit(List.of(), values);
    engine.run();
    assertOutputs(large, values);
    done();
  }

  @Test
  void shouldReturnTheOutputsThatAreAskedForInTheModelsOrder() {
    Submission swapped = submit(List.of("last", "wide"), 4, 5);
    Submission single = submit(List.of("last"), 6);
    engine.run();
    assertThat(engine.completed(swapped).outputs())
        .extracting(OutputTensor::name)
        .containsExactly("wide", "last");
    assertThat(Floats.of(engine.completed(swapped).outputs().getLast()))
        .containsExactly(40, 50, 400, 500);
    assertThat(Floats.of(engine.completed(swapped).outputs().getFirst())[WIDE]).isEqualTo(5);
    assertThat(engine.completed(single).outputs()).hasSize(1);
    assertThat(Floats.of(engine.completed(single).outputs().getFirst())).containsExactly(60, 600);
    done();
  }

  @Test
  void shouldReadOnlyOutputsThatSomebodyAsksFor() {
    long before = engine.device().readBytes();
    Submission one = submit(List.of("last"), 6);
    Submission two = submit(List.of("last"), 7, 8);
    engine.run();
    assertThat(Floats.of(engine.completed(one).outputs().getFirst())).containsExactly(60, 600);
    assertThat(Floats.of(engine.completed(two).outputs().getFirst()))
        .containsExactly(70, 80, 700, 800);
    long read = engine.device().readBytes() - before;
    assertThat(read).isBetween(2 * 3 * 4L, 2 * 4 * 4L);
    assertThat(engine.counters("m").get(Metric.OUTPUT_BYTES)).isEqualTo(read);
    done();
  }

  private void assertOutputs(Submission request, float... values) {
    List<OutputTensor> outputs = engine.completed(request).outputs();
    assertThat(outputs).extracting(OutputTensor::name).containsExactly("wide", "last");
    int rows = values.length;
    assertThat(outputs.get(0).shape().dims()).containsExactly(rows, WIDE);
    assertThat(outputs.get(1).shape().dims()).containsExactly(2, rows);
    float[] wide = Floats.of(outputs.get(0));
    float[] last = Floats.of(outputs.get(1));
    for (int row = 0; row < rows; row++) {
      for (int column = 0; column < WIDE; column++) {
        assertThat(wide[row * WIDE + column]).isEqualTo(values[row] + column);
      }
      assertThat(last[row]).isEqualTo(10 * values[row]);
      assertThat(last[rows + row]).isEqualTo(100 * values[row]);
    }
  }

  private Submission submit(List<String> outputs, float... values) {
    return engine.submit(
        engine
            .request("m", Floats.input("x", new long[] {values.length, 1}, values))
            .outputs(outputs));
  }

  private void done() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private static float get(MemorySegment floats, int index) {
    return floats.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
  }

  private static void set(MemorySegment floats, int index, float value) {
    floats.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index, value);
  }

  private static ModelImage image() {
    return TestImage.of(
        "m",
        List.of(TestImage.tensor("x", Axis.BATCH, new Axis.Fixed(1))),
        List.of(
            TestImage.tensor("wide", Axis.BATCH, new Axis.Fixed(WIDE)),
            TestImage.tensor("last", new Axis.Fixed(2), Axis.BATCH)),
        List.of(),
        4);
  }
}
