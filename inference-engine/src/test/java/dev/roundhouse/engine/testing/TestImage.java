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
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Models without files: {@code x f32[n,2] -> y}, with two weights, for one and two rows. */
public final class TestImage {
  private TestImage() {}

  public static ModelImage weighted(String name, String version, Runnable onWeightRead) {
    List<Axis> axes = List.of(Axis.BATCH, new Axis.Fixed(2));
    ModelSpec spec =
        new ModelSpec(
            name,
            "3",
            ModelSpec.Kind.MODEL,
            "",
            List.of(new TensorSpec("x", DType.F32, axes)),
            List.of(new TensorSpec("y", DType.F32, axes)),
            Optional.empty(),
            List.of(1, 2),
            List.of(Variant.SINGLE),
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    return new ModelImage(
        version, spec, List.of(new Program(1), new Program(2)), new Weights(onWeightRead));
  }

  private record Weights(Runnable onRead) implements WeightSource {
    @Override
    public List<Weight> arguments() {
      TensorType type = new TensorType(DType.F32, Shape.of(2));
      return List.of(new Weight("scale", type), new Weight("shift", type));
    }

    @Override
    public void copyTo(int index, MemorySegment target) {
      onRead.run();
      target.fill((byte) 0);
    }
  }

  private record Program(int rows) implements ProgramCode {
    @Override
    public int variant() {
      return 0;
    }

    @Override
    public int batchSize() {
      return rows;
    }

    @Override
    public String name() {
      return "model.b" + rows + ".mlir";
    }

    @Override
    public byte[] read() {
      String type = "tensor<" + rows + "x2xf32>";
      return """
      module {
        func.func public @main(%%x: %1$s, %%scale: tensor<2xf32>, %%shift: tensor<2xf32>) -> %1$s {
          return %%x : %1$s
        }
      }
      """
          .formatted(type)
          .getBytes(StandardCharsets.UTF_8);
    }
  }
}
