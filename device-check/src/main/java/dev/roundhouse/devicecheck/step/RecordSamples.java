package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.Repository;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.embedded.Roundhouse;
import dev.roundhouse.engine.embedded.RoundhouseConfig;
import dev.roundhouse.engine.embedded.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Writes what the CPU plugin answers to the samples, with which other devices are compared. Run
 * when a pack is made: {@code RecordSamples MODELS EXPECTED}.
 */
final class RecordSamples {
  private static final long SEED = 9;

  private RecordSamples() {}

  public static void main(String[] arguments) throws IOException {
    record(Path.of(arguments[0]), Path.of(arguments[1]));
    System.exit(0); // the plugin's threads do not keep it alive
  }

  static void record(Path models, Path expected) throws IOException {
    try (Roundhouse roundhouse = Roundhouse.open(RoundhouseConfig.of(models))) {
      for (Path folder : Repository.list(models)) {
        try (Bundle bundle = BundleReader.read(folder)) {
          SampleCase.write(expected, bundle.name(), cases(roundhouse, bundle.spec()));
        }
      }
    }
  }

  private static List<SampleCase> cases(Roundhouse roundhouse, ModelSpec model) {
    List<Integer> rowCounts = model.batchSizes().isEmpty() ? List.of(1) : model.batchSizes();
    List<SampleCase> cases = new ArrayList<>();
    Random random = new Random(SEED);
    for (Variant variant : model.variants()) {
      for (int rows : rowCounts) {
        Map<String, Tensor> inputs = new LinkedHashMap<>();
        for (TensorSpec input : model.inputs()) {
          inputs.put(input.name(), random(input.resolve(rows, variant), random));
        }
        Map<String, Tensor> outputs = roundhouse.infer(model.name(), inputs).outputs();
        String what =
            model.name()
                + (variant.sizes().isEmpty() ? "" : " " + variant.sizes())
                + (model.batchSizes().isEmpty() ? "" : ", rows " + rows);
        cases.add(new SampleCase(model.name(), what, named(inputs), named(outputs)));
      }
    }
    return cases;
  }

  private static List<SampleCase.Named> named(Map<String, Tensor> tensors) {
    return tensors.entrySet().stream()
        .map(each -> SampleCase.Named.of(each.getKey(), each.getValue()))
        .toList();
  }

  /** Numbers from 0 to 15, for floating point types in steps of 1/16 up to 1. */
  private static Tensor random(TensorType type, Random random) {
    Tensor tensor =
        new Tensor(
            type.dtype(),
            type.shape(),
            MemorySegment.ofArray(new byte[Math.toIntExact(type.byteSize())]));
    boolean fractions = type.dtype().token().contains("f");
    for (long i = 0; i < type.shape().elementCount(); i++) {
      Elements.set(tensor, i, fractions ? random.nextInt(17) / 16.0 : random.nextInt(16));
    }
    return tensor;
  }
}
