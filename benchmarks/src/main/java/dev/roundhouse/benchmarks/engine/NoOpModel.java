package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.model.ModelImage;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A model that takes f32 [n, 1024] and answers f32 [n, 1], the first number of each row. */
final class NoOpModel {
  static final String INPUT = "x";
  static final int ELEMENTS = 1024;
  static final int INPUT_BYTES = ELEMENTS * Float.BYTES;
  static final Shape ONE_ROW = Shape.of(1, ELEMENTS);

  /** As far as the peer's largest batch; a padded row costs next to nothing here. */
  private static final List<Integer> BATCH_SIZES = List.of(1, 8, 32);

  private static final List<ProgramCode> PROGRAMS = programs(ELEMENTS);
  private static final TensorSpec X = input(ELEMENTS);
  private static final TensorSpec Y =
      new TensorSpec("y", DType.F32, List.of(Axis.BATCH, new Axis.Fixed(1)));

  private NoOpModel() {}

  static String name(int index) {
    return "m" + index;
  }

  static ModelImage image(int index) {
    return image(name(index), X, PROGRAMS);
  }

  /** One that takes so many numbers a row. */
  static ModelImage image(String name, int elements) {
    return image(name, input(elements), programs(elements));
  }

  private static TensorSpec input(int elements) {
    return new TensorSpec(INPUT, DType.F32, List.of(Axis.BATCH, new Axis.Fixed(elements)));
  }

  private static List<ProgramCode> programs(int elements) {
    return BATCH_SIZES.stream().<ProgramCode>map(batch -> program(batch, elements)).toList();
  }

  private static ModelImage image(String name, TensorSpec input, List<ProgramCode> programs) {
    ModelSpec spec =
        new ModelSpec(
            name,
            "3",
            ModelSpec.Kind.MODEL,
            "",
            List.of(input),
            List.of(Y),
            Optional.empty(),
            BATCH_SIZES,
            List.of(Variant.SINGLE),
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    return new ModelImage("1", spec, programs, WeightSource.NONE);
  }

  private static ProgramCode program(int batch, int elements) {
    String text =
        """
        module @first {
          func.func public @main(%%arg0: tensor<%1$dx%2$dxf32>) -> tensor<%1$dx1xf32> {
            %%0 = stablehlo.slice %%arg0 [0:%1$d, 0:1] : (tensor<%1$dx%2$dxf32>) -> tensor<%1$dx1xf32>
            return %%0 : tensor<%1$dx1xf32>
          }
        }
        """
            .formatted(batch, elements);
    return new Code(batch, text.getBytes(StandardCharsets.UTF_8));
  }

  private record Code(int batchSize, byte[] read) implements ProgramCode {
    @Override
    public int variant() {
      return 0;
    }

    @Override
    public String name() {
      return "model.b" + batchSize + ".mlir";
    }
  }
}
