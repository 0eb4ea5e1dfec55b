package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.embedded.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * A request to a sample and what the CPU plugin answered, kept as JSON in the folder {@code
 * expected}.
 *
 * @param what the model, the shape variant and the number of rows, for people
 */
record SampleCase(String model, String what, List<Named> inputs, List<Named> outputs) {
  private static final JsonMapper JSON = JsonMapper.builder().build();

  /** A tensor with its name; bytes are little-endian. */
  record Named(String name, String dtype, long[] shape, byte[] data) {
    static Named of(String name, Tensor tensor) {
      return new Named(
          name,
          tensor.dtype().token(),
          tensor.shape().dims(),
          tensor.data().toArray(ValueLayout.JAVA_BYTE));
    }

    DType type() {
      return DType.fromToken(dtype).orElseThrow();
    }

    Tensor tensor() {
      return new Tensor(type(), Shape.of(shape), MemorySegment.ofArray(data));
    }
  }

  /** Every case in the folder, by model. */
  static List<SampleCase> readAll(Path folder) throws IOException {
    List<SampleCase> cases = new ArrayList<>();
    try (var files = Files.newDirectoryStream(folder, "*.json")) {
      for (Path file : files) {
        cases.addAll(Arrays.asList(JSON.readValue(file.toFile(), SampleCase[].class)));
      }
    }
    cases.sort(java.util.Comparator.comparing(SampleCase::what));
    if (cases.isEmpty()) {
      throw new IOException(folder + " holds no expected answers; make the pack again");
    }
    return cases;
  }

  static void write(Path folder, String model, List<SampleCase> cases) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(model + ".json"), JSON.writeValueAsString(cases));
  }

  Map<String, Tensor> inputTensors() {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    inputs.forEach(each -> tensors.put(each.name(), each.tensor()));
    return tensors;
  }

  /** How far an answer is from what is expected. */
  Difference compare(Map<String, Tensor> answer, String platform) {
    Difference worst = Difference.NONE;
    for (Named each : outputs) {
      Tensor got = answer.get(each.name());
      if (got == null || !Arrays.equals(got.shape().dims(), each.shape())) {
        return new Difference(
            Double.NaN, 0, each.name() + (got == null ? " is missing" : " has " + got.shape()));
      }
      Difference found = Difference.of(each.name(), each.tensor(), got, platform);
      worst = found.isWorseThan(worst) ? found : worst;
    }
    return worst;
  }
}
