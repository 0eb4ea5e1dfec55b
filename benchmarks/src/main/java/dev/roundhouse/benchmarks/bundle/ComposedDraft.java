package dev.roundhouse.benchmarks.bundle;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * A bundle that answers by calling others, before it is written.
 *
 * @param manifest all of it but what lists the files
 * @param code of its {@code Model.java}; empty for none
 */
public record ComposedDraft(String manifest, String code) {

  /** An ensemble f32 x [n, in] to y [n, out] that calls models with such names in turn. */
  public static ComposedDraft chain(int in, int out, List<String> models) {
    StringBuilder steps = new StringBuilder();
    for (int i = 0; i < models.size(); i++) {
      String from = i == 0 ? "x" : "t%d".formatted(i);
      String to = i == models.size() - 1 ? "y" : "t%d".formatted(i + 1);
      steps.append(
          "- {model: %s, inputs: {x: %s}, outputs: {y: %s}}\n".formatted(models.get(i), from, to));
    }
    return new ComposedDraft(
        """
        format_version: '3'
        kind: ensemble
        inputs:
        - {name: x, dtype: f32, shape: [n, %d]}
        outputs:
        - {name: y, dtype: f32, shape: [n, %d]}
        steps:
        """
                .formatted(in, out)
            + steps,
        "");
  }

  /** A meta f32 x [n, in] to y [n, out]. */
  public static ComposedDraft meta(int in, int out, List<String> calls, String code) {
    return new ComposedDraft(
        """
        format_version: '3'
        kind: meta
        client_inputs:
        - {name: x, dtype: f32, shape: [n, %d]}
        client_outputs:
        - {name: y, dtype: f32, shape: [n, %d]}
        meta: {calls: [%s]}
        """
            .formatted(in, out, String.join(", ", calls)),
        code);
  }

  /** Writes every file of the bundle into a folder, which is made and names the model. */
  public void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    String files = "files: {}\n";
    if (!code.isEmpty()) {
      byte[] bytes = code.getBytes(StandardCharsets.UTF_8);
      Files.write(folder.resolve("Model.java"), bytes);
      files = "files: {Model.java: %s}\n".formatted(HexFormat.of().formatHex(sha256(bytes)));
    }
    Files.writeString(folder.resolve("manifest.yaml"), manifest + files);
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has SHA-256", impossible);
    }
  }
}
