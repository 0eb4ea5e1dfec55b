package dev.roundhouse.devicecheck.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.embedded.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RecordSamplesTest {
  private static final Path MODELS = Path.of("..", "examples", "models");

  @TempDir private Path folder;

  @Test
  void shouldRecordEveryProgramOfEverySampleAndReadTheSameBack() throws Exception {
    RecordSamples.record(MODELS, folder);
    List<SampleCase> cases = SampleCase.readAll(folder);

    assertThat(cases)
        .extracting(SampleCase::what)
        .contains("digits, rows 64", "scalar", "variants {s=32}, rows 4", "dtypes, rows 1");
    for (SampleCase each : cases) {
      assertThat(each.compare(answers(each), "cpu").isRight()).isTrue();
    }
    SampleCase digits =
        cases.stream()
            .filter(each -> each.what().equals("digits, rows 1"))
            .findFirst()
            .orElseThrow();
    Map<String, Tensor> answers = answers(digits);
    Tensor scores = Objects.requireNonNull(answers.get("scores"));
    Elements.set(scores, 3, Elements.get(scores, 3) + 0.01);
    assertThat(digits.compare(answers, "cpu").isRight()).isFalse();
    Elements.set(scores, 3, Double.NaN);
    assertThat(digits.compare(answers, "cuda").isRight()).isFalse();
    assertThat(digits.compare(Map.of(), "cpu").isRight()).isFalse();
  }

  @Test
  void shouldSayWhatToDoWhenThereAreNoExpectedAnswers() {
    assertThatThrownBy(() -> SampleCase.readAll(folder))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("make the pack again");
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BYTES", "F8_E5M2", "F8_E4M3"})
  void shouldKeepSmallNumbersInEveryType(DType dtype) {
    Tensor tensor =
        new Tensor(dtype, Shape.of(2), MemorySegment.ofArray(new byte[2 * dtype.byteSize()]));
    Elements.set(tensor, 1, 1);
    assertThat(Elements.get(tensor, 0)).isZero();
    assertThat(Elements.get(tensor, 1)).isEqualTo(1);
  }

  private static Map<String, Tensor> answers(SampleCase sample) {
    Map<String, Tensor> answers = new java.util.LinkedHashMap<>();
    new ArrayList<>(sample.outputs())
        .forEach(
            each ->
                answers.put(
                    each.name(),
                    new Tensor(
                        each.type(),
                        Shape.of(each.shape()),
                        MemorySegment.ofArray(each.data().clone()))));
    return answers;
  }
}
