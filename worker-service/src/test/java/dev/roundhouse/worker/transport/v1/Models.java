package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Contracts of models that v1 is mapped by. */
final class Models {
  /** {@code x f32[n,2,3], s bytes[n,w] -> y f32[n,2], t bytes[n,1]}. */
  static final ModelSpec BATCHED =
      spec(
          List.of(
              new TensorSpec("x", DType.F32, List.of(Axis.BATCH, fixed(2), fixed(3))),
              new TensorSpec("s", DType.BYTES, List.of(Axis.BATCH, new Axis.Variable('w')))),
          List.of(
              new TensorSpec("y", DType.F32, List.of(Axis.BATCH, fixed(2))),
              new TensorSpec("t", DType.BYTES, List.of(Axis.BATCH, fixed(1)))));

  /** {@code x i32[4] -> y i32[4]}: a request is one. */
  static final ModelSpec SINGLE =
      spec(
          List.of(new TensorSpec("x", DType.I32, List.of(fixed(4)))),
          List.of(new TensorSpec("y", DType.I32, List.of(fixed(4)))));

  /** {@code x bf16[n,1] -> y bf16[n,1]}: of a type that is younger than v1. */
  static final ModelSpec YOUNG =
      spec(
          List.of(new TensorSpec("x", DType.BF16, List.of(Axis.BATCH, fixed(1)))),
          List.of(new TensorSpec("y", DType.BF16, List.of(Axis.BATCH, fixed(1)))));

  private Models() {}

  private static Axis fixed(long extent) {
    return new Axis.Fixed(extent);
  }

  private static ModelSpec spec(List<TensorSpec> inputs, List<TensorSpec> outputs) {
    return new ModelSpec(
        "m",
        "3",
        ModelSpec.Kind.MODEL,
        "",
        inputs,
        outputs,
        Optional.empty(),
        List.of(1, 8),
        List.of(Variant.SINGLE),
        List.of(),
        ServingDefaults.DEFAULT,
        Map.of());
  }
}
