package dev.roundhouse.benchmarks.firstlight;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A model that answers f32 [n, 1024] with its negation: as small as an identity, yet a result that
 * only a real execution gives. 4 KiB each way per row.
 */
final class IdentityModel {
  static final String NAME = "identity-4k";
  static final int BYTES = 4096;
  private static final int ELEMENTS = BYTES / Float.BYTES;
  private static final List<Integer> BATCH_SIZES = List.of(1, 4, 16, 64);

  private IdentityModel() {}

  /** Writes the bundle into a folder of its own in {@code repository}. */
  static void write(Path repository) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    for (int batch : BATCH_SIZES) {
      files.put("model.b" + batch + ".mlir", code(batch).getBytes(StandardCharsets.UTF_8));
    }
    files.put("weights.safetensors", noWeights());
    String digests =
        files.entrySet().stream()
            .map(file -> "  %s: %s\n".formatted(file.getKey(), sha256(file.getValue())))
            .collect(Collectors.joining());
    String manifest =
        """
        format_version: '3'
        kind: model
        description: negation of 1024 numbers, for benchmarks
        inputs:
        - {name: x, dtype: f32, shape: [n, %d]}
        outputs:
        - {name: y, dtype: f32, shape: [n, %d]}
        batch_sizes: %s
        files:
        %s"""
            .formatted(ELEMENTS, ELEMENTS, BATCH_SIZES, digests);
    Path bundle = Files.createDirectories(repository.resolve(NAME));
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      Files.write(bundle.resolve(file.getKey()), file.getValue());
    }
    Files.writeString(bundle.resolve("manifest.yaml"), manifest);
  }

  /** A request of one row that counts from 0. */
  static ModelInferRequest request() {
    return ModelInferRequest.newBuilder()
        .setModelName(NAME)
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(ELEMENTS))
        .addRawInputContents(row(1))
        .build();
  }

  /** Fails unless {@code response} is what the model answers to {@link #request}. */
  static void check(ModelInferResponse response) {
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

  private static byte[] noWeights() {
    byte[] header =
        "{\"__metadata__\":{\"argument_order\":\"[]\"}}".getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Long.BYTES + header.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(header.length)
        .put(header)
        .array();
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has SHA-256", impossible);
    }
  }
}
