package dev.roundhouse.benchmarks.serving;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A model that answers f32 {@code x} [n, elements] with its negation {@code y}: as small as an
 * identity, yet a result that only a real execution gives.
 *
 * @param rowBytes each way, a multiple of 4
 * @param batchSizes that programs are compiled for
 */
public record IdentityModel(int rowBytes, List<Integer> batchSizes) {
  public static final IdentityModel FOUR_KIB = new IdentityModel(4096, List.of(1, 4, 16, 64));

  public String name() {
    return "identity-" + rowBytes;
  }

  public int elements() {
    return rowBytes / Float.BYTES;
  }

  /** Writes the bundle into a folder of its own in {@code repository}. */
  public void write(Path repository) throws IOException {
    Map<Integer, String> programs =
        batchSizes.stream().collect(Collectors.toMap(Function.identity(), this::code));
    new BundleDraft(
            "negation of %d numbers, for benchmarks".formatted(elements()),
            List.of("{name: x, dtype: f32, shape: [n, %d]}".formatted(elements())),
            List.of("{name: y, dtype: f32, shape: [n, %d]}".formatted(elements())),
            programs,
            List.of())
        .write(repository.resolve(name()));
  }

  /** A request of one row that counts from 0. */
  public ModelInferRequest request() {
    return request(1);
  }

  /** A request of so many equal rows. */
  public ModelInferRequest request(int rows) {
    return withoutData(rows)
        .addRawInputContents(ByteString.copyFrom(Collections.nCopies(rows, row())))
        .build();
  }

  /** What a request of so many rows says of them. */
  public ModelInferRequest.Builder withoutData(int rows) {
    return ModelInferRequest.newBuilder()
        .setModelName(name())
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(elements()));
  }

  /** Fails unless {@code response} is what the model answers to {@link #request}. */
  public void check(ModelInferResponse response) {
    if (!response.getRawOutputContentsList().equals(List.of(negatedRow()))) {
      throw new IllegalStateException(
          "the worker's answer is not the negation: " + response.getOutputsList());
    }
  }

  /** The row that counts from 0. */
  public ByteString row() {
    return row(1);
  }

  /** What the model answers to it. */
  public ByteString negatedRow() {
    return row(-1);
  }

  private ByteString row(int sign) {
    ByteBuffer values = ByteBuffer.allocate(rowBytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < elements(); i++) {
      values.putFloat(sign * (float) i);
    }
    return ByteString.copyFrom(values.flip());
  }

  private String code(int batch) {
    String type = "tensor<%dx%dxf32>".formatted(batch, elements());
    return """
        module @negate {
          func.func public @main(%%arg0: %1$s) -> %1$s {
            %%0 = stablehlo.negate %%arg0 : %1$s
            return %%0 : %1$s
          }
        }
        """
        .formatted(type);
  }
}
