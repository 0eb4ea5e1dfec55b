package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.model.ModelImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/** Models of f32 tensors without files, whose programs say what they take and return. */
public final class TestImage {
  private TestImage() {}

  /** {@code x f32[n,2] -> y}, with two weights of two zeros, for one and two rows. */
  public static ModelImage weighted(String name, String version, Runnable onWeightRead) {
    TensorSpec x = tensor("x", Axis.BATCH, new Axis.Fixed(2));
    TensorSpec y = tensor("y", Axis.BATCH, new Axis.Fixed(2));
    return of(
        name,
        version,
        List.of(x),
        List.of(y),
        new Weights(onWeightRead, List.of(new float[2], new float[2])),
        ServingDefaults.DEFAULT,
        1,
        2);
  }

  /** {@code x f32[n,2] -> y}, for one row, with these weights. */
  public static ModelImage weighted(String name, List<float[]> weights) {
    return of(
        name,
        List.of(tensor("x", Axis.BATCH, new Axis.Fixed(2))),
        List.of(tensor("y", Axis.BATCH, new Axis.Fixed(2))),
        weights,
        1);
  }

  /**
   * {@code x f32[n,2] -> y}, for one row, with weights of so many bytes, a multiple of 4, in one
   * tensor that begins with {@code first}.
   */
  public static ModelImage scaled(String name, float first, int weightBytes) {
    return scaled(name, first, weightBytes, Optional.empty());
  }

  /**
   * As above.
   *
   * @param residency as a manifest gives it
   */
  public static ModelImage scaled(
      String name, float first, int weightBytes, Optional<ServingDefaults.Residency> residency) {
    float[] weights = new float[weightBytes / Float.BYTES];
    weights[0] = first;
    ServingDefaults none = ServingDefaults.DEFAULT;
    return of(
        name,
        "1",
        List.of(tensor("x", Axis.BATCH, new Axis.Fixed(2))),
        List.of(tensor("y", Axis.BATCH, new Axis.Fixed(2))),
        new Weights(() -> {}, List.of(weights)),
        new ServingDefaults(
            none.weight(),
            residency,
            none.maxQueueDelay(),
            none.maxQueueSize(),
            none.queue(),
            none.priorities(),
            none.sequence()),
        1);
  }

  /** A model whose weights are named {@code w0}, {@code w1} and so on. */
  public static ModelImage of(
      String name,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      List<float[]> weights,
      int... batchSizes) {
    return of(
        name,
        "1",
        inputs,
        outputs,
        new Weights(() -> {}, weights),
        ServingDefaults.DEFAULT,
        batchSizes);
  }

  /** A model without weights that is compiled for several shapes. */
  public static ModelImage of(
      String name,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      List<Variant> variants,
      List<Integer> batchSizes) {
    return of(
        name,
        "1",
        inputs,
        outputs,
        new Weights(() -> {}, List.of()),
        ServingDefaults.DEFAULT,
        variants,
        batchSizes);
  }

  private static ModelImage of(
      String name,
      String version,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      Weights weights,
      ServingDefaults serving,
      int... batchSizes) {
    return of(
        name,
        version,
        inputs,
        outputs,
        weights,
        serving,
        List.of(Variant.SINGLE),
        IntStream.of(batchSizes).boxed().toList());
  }

  private static ModelImage of(
      String name,
      String version,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      Weights weights,
      ServingDefaults serving,
      List<Variant> variants,
      List<Integer> batchSizes) {
    ModelSpec spec =
        new ModelSpec(
            name,
            "3",
            ModelSpec.Kind.MODEL,
            "",
            inputs,
            outputs,
            Optional.empty(),
            batchSizes,
            variants,
            List.of(),
            serving,
            Map.of());
    List<ProgramCode> programs = new ArrayList<>();
    for (int variant = 0; variant < variants.size(); variant++) {
      for (int rows : batchSizes) {
        programs.add(
            new Program(
                inputs, outputs, weights.arguments(), variant, variants.get(variant), rows));
      }
    }
    return new ModelImage(version, spec, programs, weights);
  }

  public static TensorSpec tensor(String name, Axis... axes) {
    return new TensorSpec(name, DType.F32, List.of(axes));
  }

  private record Weights(Runnable onRead, List<float[]> values) implements WeightSource {
    @Override
    public List<Weight> arguments() {
      return IntStream.range(0, values.size())
          .mapToObj(
              i -> new Weight("w" + i, new TensorType(DType.F32, Shape.of(values.get(i).length))))
          .toList();
    }

    @Override
    public void copyTo(int index, MemorySegment target) {
      onRead.run();
      float[] from = values.get(index);
      MemorySegment.copy(from, 0, target, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, from.length);
    }
  }

  private record Program(
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      List<Weight> weights,
      int variant,
      Variant sizes,
      int rows)
      implements ProgramCode {

    @Override
    public int batchSize() {
      return rows;
    }

    @Override
    public String name() {
      return (sizes.sizes().isEmpty() ? "model.b" : "model.v" + variant + ".b") + rows + ".mlir";
    }

    @Override
    public byte[] read() {
      List<String> arguments = new ArrayList<>();
      inputs.forEach(input -> arguments.add(type(input)));
      weights.forEach(weight -> arguments.add(type(weight.type())));
      String parameters =
          String.join(
              ", ",
              IntStream.range(0, arguments.size())
                  .mapToObj(i -> "%a" + i + ": " + arguments.get(i))
                  .toList());
      List<String> results = outputs.stream().map(this::type).toList();
      String returned =
          String.join(", ", results.stream().map(result -> "%a0").toList())
              + " : "
              + String.join(", ", results);
      return """
      module {
        func.func public @main(%s) -> (%s) {
          return %s
        }
      }
      """
          .formatted(parameters, String.join(", ", results), returned)
          .getBytes(StandardCharsets.UTF_8);
    }

    private String type(TensorSpec tensor) {
      return type(tensor.resolve(rows, sizes));
    }

    private static String type(TensorType tensor) {
      StringBuilder type = new StringBuilder("tensor<");
      for (long extent : tensor.shape().dims()) {
        type.append(extent).append('x');
      }
      String element =
          switch (tensor.dtype()) {
            case F32 -> "f32";
            case I32 -> "i32";
            default -> throw new IllegalArgumentException(tensor.dtype() + " in a test's program");
          };
      return type.append(element).append('>').toString();
    }
  }
}
