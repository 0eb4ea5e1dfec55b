package dev.roundhouse.benchmarks.stream;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A model with next to nothing to do, so that what is left is how its rows come to it: f32 {@code
 * x} [n, elements] in, the first number of each row out.
 *
 * @param rowBytes a multiple of 64
 * @param batchSizes that programs are compiled for
 */
record FirstNumber(int rowBytes, List<Integer> batchSizes) {
  private static final float FIRST = 42;

  String name() {
    return "first-" + rowBytes;
  }

  private int elements() {
    return rowBytes / Float.BYTES;
  }

  /** Writes the bundle into a folder of its own in {@code repository}. */
  void write(Path repository) throws IOException {
    Map<Integer, String> programs =
        batchSizes.stream().collect(Collectors.toMap(Function.identity(), this::code));
    new BundleDraft(
            "the first of %d numbers, for benchmarks".formatted(elements()),
            List.of("{name: x, dtype: f32, shape: [n, %d]}".formatted(elements())),
            List.of("{name: y, dtype: f32, shape: [n, 1]}"),
            programs,
            List.of())
        .write(repository.resolve(name()));
  }

  private String code(int batch) {
    return """
        module @first {
          func.func public @main(%%arg0: tensor<%1$dx%2$dxf32>) -> tensor<%1$dx1xf32> {
            %%0 = stablehlo.slice %%arg0 [0:%1$d, 0:1] : (tensor<%1$dx%2$dxf32>) -> tensor<%1$dx1xf32>
            return %%0 : tensor<%1$dx1xf32>
          }
        }
        """
        .formatted(batch, elements());
  }

  ModelInferRequest request() {
    return ModelInferRequest.newBuilder()
        .setModelName(name())
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(elements()))
        .addRawInputContents(row())
        .build();
  }

  /** A row that counts down from its first number. */
  ByteString row() {
    ByteBuffer values = ByteBuffer.allocate(rowBytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < elements(); i++) {
      values.putFloat(FIRST - i);
    }
    return ByteString.copyFrom(values.flip());
  }

  /** What the model answers to it. */
  ByteString answer() {
    return ByteString.copyFrom(
        ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(FIRST).flip());
  }
}
