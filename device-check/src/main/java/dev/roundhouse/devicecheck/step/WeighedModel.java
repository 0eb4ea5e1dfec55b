package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * A model made up for a measurement: takes f32 [n, 16] and adds to it what tells whether its weight
 * is the right one and whole. Immutable.
 *
 * @param program text of the program for a number of rows
 * @param added what answers have more than their inputs
 */
record WeighedModel(
    String name, SyntheticWeights weights, IntFunction<String> program, float added) {
  private static final int NUMBERS = 16;
  private static final List<Integer> BATCH_SIZES = List.of(1, 8);
  private static final List<Axis> AXES = List.of(Axis.BATCH, new Axis.Fixed(NUMBERS));
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  /**
   * A model with one weight, of which answers tell the first, the middle and the last numbers.
   *
   * @param bytes of the weight
   * @param value that its numbers are made of; a small whole one, so that sums are exact
   */
  static WeighedModel of(String name, long bytes, int value) {
    long numbers = bytes / Float.BYTES;
    long middle = numbers / 2;
    return new WeighedModel(
        name,
        new SyntheticWeights(
            TensorType.of(DType.F32, numbers),
            "%d numbers made of %d".formatted(numbers, value),
            target -> {
              fill(target, 8 * value);
              fill(sixteen(target, 0), value);
              fill(sixteen(target, middle), 2 * value);
              fill(sixteen(target, numbers - NUMBERS), 4 * value);
            }),
        rows ->
            """
            module @weighed {
              func.func public @main(%%x: tensor<%1$dx16xf32>, %%w: tensor<%2$dxf32>) -> tensor<%1$dx16xf32> {
                %%0 = stablehlo.slice %%w [0:16] : (tensor<%2$dxf32>) -> tensor<16xf32>
                %%1 = stablehlo.slice %%w [%3$d:%4$d] : (tensor<%2$dxf32>) -> tensor<16xf32>
                %%2 = stablehlo.slice %%w [%5$d:%2$d] : (tensor<%2$dxf32>) -> tensor<16xf32>
                %%3 = stablehlo.add %%0, %%1 : tensor<16xf32>
                %%4 = stablehlo.add %%3, %%2 : tensor<16xf32>
                %%5 = stablehlo.broadcast_in_dim %%4, dims = [1] : (tensor<16xf32>) -> tensor<%1$dx16xf32>
                %%6 = stablehlo.add %%x, %%5 : tensor<%1$dx16xf32>
                return %%6 : tensor<%1$dx16xf32>
              }
            }
            """
                .formatted(rows, numbers, middle, middle + NUMBERS, numbers - NUMBERS),
        7 * value);
  }

  /**
   * A model whose runs take long: a chain of products of its weight, a matrix of 1 / extent, which
   * is its own square.
   *
   * @param extent of both sides; a power of two, so that products are exact in TF32 too
   */
  static WeighedModel busy(String name, int extent, int products) {
    String matrix = "tensor<%1$dx%1$dxf32>".formatted(extent);
    StringBuilder chain = new StringBuilder();
    String last = "%w";
    for (int i = 0; i < products; i++) {
      chain.append("    %p").append(i).append(" = stablehlo.dot_general ").append(last);
      chain.append(", %w, contracting_dims = [1] x [0] : (").append(matrix).append(", ");
      chain.append(matrix).append(") -> ").append(matrix).append('\n');
      last = "%p" + i;
    }
    String result = last;
    return new WeighedModel(
        name,
        new SyntheticWeights(
            TensorType.of(DType.F32, extent, extent),
            "%1$d x %1$d numbers of 1 / %1$d".formatted(extent),
            target -> fill(target, 1f / extent)),
        rows ->
            """
            module @busy {
              func.func public @main(%%x: tensor<%1$dx16xf32>, %%w: %2$s) -> tensor<%1$dx16xf32> {
            %3$s    %%0 = stablehlo.slice %4$s [0:1, 0:16] : (%2$s) -> tensor<1x16xf32>
                %%1 = stablehlo.broadcast_in_dim %%0, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<%1$dx16xf32>
                %%2 = stablehlo.add %%x, %%1 : tensor<%1$dx16xf32>
                return %%2 : tensor<%1$dx16xf32>
              }
            }
            """
                .formatted(rows, matrix, chain, result),
        1f / extent);
  }

  /** For the loader. */
  ModelImage image() {
    ModelSpec spec =
        new ModelSpec(
            name,
            "3",
            ModelSpec.Kind.MODEL,
            "",
            List.of(new TensorSpec("x", DType.F32, AXES)),
            List.of(new TensorSpec("y", DType.F32, AXES)),
            Optional.empty(),
            BATCH_SIZES,
            List.of(Variant.SINGLE),
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    List<ProgramCode> programs =
        BATCH_SIZES.stream().<ProgramCode>map(rows -> new Code(rows, program.apply(rows))).toList();
    return new ModelImage("1", spec, programs, weights);
  }

  long weightBytes() {
    return weights.type().byteSize();
  }

  /** One row of a number. */
  static List<InputTensor> input(float number) {
    float[] row = new float[NUMBERS];
    Arrays.fill(row, number);
    return List.of(
        new InputTensor(
            "x", DType.F32, Shape.of(1, NUMBERS), TensorData.of(MemorySegment.ofArray(row))));
  }

  /** True when {@code answer} is what a row of {@code number} must be answered with. */
  boolean isRight(float number, MemorySegment answer) {
    boolean right = answer.byteSize() == NUMBERS * Float.BYTES;
    for (int i = 0; right && i < NUMBERS; i++) {
      right = answer.getAtIndex(F32, i) == number + added;
    }
    return right;
  }

  private static MemorySegment sixteen(MemorySegment target, long from) {
    return target.asSlice(from * Float.BYTES, NUMBERS * Float.BYTES);
  }

  /** By copies of what is filled already, which is as fast as memory. */
  private static void fill(MemorySegment target, float value) {
    long bytes = target.byteSize();
    long filled = Math.min(bytes, 4096);
    for (long at = 0; at < filled; at += Float.BYTES) {
      target.set(F32, at, value);
    }
    while (filled < bytes) {
      long next = Math.min(filled, bytes - filled);
      MemorySegment.copy(target, 0, target, filled, next);
      filled += next;
    }
  }

  private record Code(int batchSize, String text) implements ProgramCode {
    @Override
    public int variant() {
      return 0;
    }

    @Override
    public String name() {
      return "model.b" + batchSize + ".mlir";
    }

    @Override
    public byte[] read() {
      return text.getBytes(StandardCharsets.UTF_8);
    }
  }
}
