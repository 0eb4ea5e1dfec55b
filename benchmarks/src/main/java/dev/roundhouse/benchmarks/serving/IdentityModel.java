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
 * A model that answers f32 [n, 1024] with its negation: as small as an identity, yet a result that
 * only a real execution gives. 4 KiB each way per row.
 */
public final class IdentityModel {
  public static final String NAME = "identity-4k";
  public static final int BYTES = 4096;
  private static final int ELEMENTS = BYTES / Float.BYTES;
  private static final List<Integer> BATCH_SIZES = List.of(1, 4, 16, 64);

  private IdentityModel() {}

  /** Writes the bundle into a folder of its own in {@code repository}. */
  public static void write(Path repository) throws IOException {
    Map<Integer, String> programs =
        BATCH_SIZES.stream().collect(Collectors.toMap(Function.identity(), IdentityModel::code));
    new BundleDraft(
            "negation of 1024 numbers, for benchmarks",
            List.of("{name: x, dtype: f32, shape: [n, %d]}".formatted(ELEMENTS)),
            List.of("{name: y, dtype: f32, shape: [n, %d]}".formatted(ELEMENTS)),
            programs,
            List.of())
        .write(repository.resolve(NAME));
  }

  /** A request of one row that counts from 0. */
  public static ModelInferRequest request() {
    return request(1);
  }

  /** A request of so many equal rows. */
  public static ModelInferRequest request(int rows) {
    return ModelInferRequest.newBuilder()
        .setModelName(NAME)
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(ELEMENTS))
        .addRawInputContents(ByteString.copyFrom(Collections.nCopies(rows, row(1))))
        .build();
  }

  /** Fails unless {@code response} is what the model answers to {@link #request}. */
  public static void check(ModelInferResponse response) {
    if (!response.getRawOutputContentsList().equals(List.of(row(-1)))) {
      throw new IllegalStateException("the worker's answer is not the negation: " + response);
    }
  }

  private static ByteString row(int sign) {
    ByteBuffer values = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < ELEMENTS; i++) {
      values.putFloat(sign * (float) i);
    }
    return ByteString.copyFrom(values.flip());
  }

  private static String code(int batch) {
    String type = "tensor<%dx%dxf32>".formatted(batch, ELEMENTS);
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
