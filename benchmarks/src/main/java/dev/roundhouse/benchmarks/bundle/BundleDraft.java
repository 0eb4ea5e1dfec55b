package dev.roundhouse.benchmarks.bundle;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A bundle of format 3 before it is written.
 *
 * @param inputs each as a manifest has it, such as <code>{name: x, dtype: f32, shape: [n, 16]}
 *     </code>
 * @param outputs likewise
 * @param programs StableHLO text by batch size
 * @param weights in the order the programs take them, after the inputs
 * @param serving the section of that name, on one line
 */
public record BundleDraft(
    String description,
    List<String> inputs,
    List<String> outputs,
    Map<Integer, String> programs,
    List<RandomTensor> weights,
    String serving) {
  private static final String WEIGHTS = "weights.safetensors";

  /** A bundle that says nothing of how it is to be served. */
  public BundleDraft(
      String description,
      List<String> inputs,
      List<String> outputs,
      Map<Integer, String> programs,
      List<RandomTensor> weights) {
    this(description, inputs, outputs, programs, weights, "{}");
  }

  /** Writes every file of the bundle into a folder, which is made and names the model. */
  public void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Map<String, String> digests = new TreeMap<>();
    for (Map.Entry<Integer, String> program : programs.entrySet()) {
      String file = "model.b" + program.getKey() + ".mlir";
      byte[] code = program.getValue().getBytes(StandardCharsets.UTF_8);
      digests.put(file, written(folder.resolve(file), out -> out.write(code)));
    }
    digests.put(WEIGHTS, written(folder.resolve(WEIGHTS), this::writeWeights));
    Files.writeString(folder.resolve("manifest.yaml"), manifest(digests));
  }

  /** The content of a file. */
  private interface Content {
    void writeTo(OutputStream out) throws IOException;
  }

  /** Returns the sha256, in hexadecimal. */
  private static String written(Path file, Content content) throws IOException {
    MessageDigest sha256 = sha256();
    try (OutputStream out =
        new DigestOutputStream(
            new BufferedOutputStream(Files.newOutputStream(file), 1 << 16), sha256)) {
      content.writeTo(out);
    }
    return HexFormat.of().formatHex(sha256.digest());
  }

  private void writeWeights(OutputStream out) throws IOException {
    byte[] header = header().getBytes(StandardCharsets.UTF_8);
    out.write(
        ByteBuffer.allocate(Long.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(header.length)
            .array());
    out.write(header);
    for (RandomTensor weight : weights) {
      byte[] period = weight.period();
      for (long left = weight.byteSize(); left > 0; left -= period.length) {
        out.write(period, 0, (int) Math.min(left, period.length));
      }
    }
  }

  /** Of safetensors: where each tensor lies, and in which order a program takes them. */
  private String header() {
    String order =
        weights.stream()
            .map(weight -> "\\\"" + weight.name() + "\\\"")
            .collect(Collectors.joining(",", "[", "]"));
    StringBuilder json =
        new StringBuilder("{\"__metadata__\":{\"argument_order\":\"" + order + "\"}");
    long begin = 0;
    for (RandomTensor weight : weights) {
      long end = begin + weight.byteSize();
      json.append(
          ",\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%d,%d]}"
              .formatted(weight.name(), weight.dims(), begin, end));
      begin = end;
    }
    return json.append('}').toString();
  }

  private String manifest(Map<String, String> digests) {
    return """
    format_version: '3'
    kind: model
    description: %s
    inputs:
    %soutputs:
    %sbatch_sizes: %s
    serving: %s
    files:
    %s"""
        .formatted(
            description,
            listed(inputs),
            listed(outputs),
            programs.keySet().stream().sorted().toList(),
            serving,
            digests.entrySet().stream()
                .map(file -> "  %s: %s\n".formatted(file.getKey(), file.getValue()))
                .collect(Collectors.joining()));
  }

  private static String listed(List<String> tensors) {
    return tensors.stream().map(tensor -> "- " + tensor + "\n").collect(Collectors.joining());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has SHA-256", impossible);
    }
  }
}
