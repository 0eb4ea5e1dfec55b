package dev.roundhouse.bundle;

import dev.roundhouse.bundle.weights.Safetensors;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Builds bundles on disk; {@link #write} adds the manifest, with digests for format 3. */
final class BundleFolder {
  static final String PROGRAM =
      "func.func @main(%x: tensor<2x3xf32>, %w: tensor<2xf32>) -> tensor<2x3xf32> { return %x }";

  private final Path folder;
  private final Map<String, byte[]> files = new TreeMap<>();
  private String manifest;

  private BundleFolder(Path folder, String manifest) {
    this.folder = folder;
    this.manifest = manifest;
    file("weights.safetensors", Safetensors.empty());
  }

  static BundleFolder format3(Path folder, String extra) {
    return new BundleFolder(
        folder,
        """
        format_version: "3"
        inputs:
          - {name: x, dtype: f32, shape: [n, 3]}
        outputs:
          - {name: y, dtype: f32, shape: [n, 3]}
        """
            + extra);
  }

  static BundleFolder format2(Path folder, String extra) {
    return new BundleFolder(
        folder,
        """
        format_version: "2.0"
        executable_inputs:
          - {name: x, dtype: f32, shape: wn, dims: {w: 3}}
        executable_outputs:
          - {name: y, dtype: f32, shape: wn, dims: {w: 3}}
        """
            + extra);
  }

  BundleFolder file(String name, byte[] bytes) {
    files.put(name, bytes);
    return this;
  }

  BundleFolder file(String name, String text) {
    return file(name, text.getBytes(StandardCharsets.UTF_8));
  }

  /** Changes the manifest's text. */
  BundleFolder replace(String text, String by) {
    manifest = manifest.replace(text, by);
    return this;
  }

  BundleFolder without(String name) {
    files.remove(name);
    return this;
  }

  Path write() {
    StringBuilder text = new StringBuilder(manifest);
    if (manifest.contains("\"3\"")) {
      text.append("files:\n");
      files.forEach(
          (name, bytes) -> text.append("  \"%s\": %s%n".formatted(name, Digest.of(bytes))));
    }
    try {
      Files.createDirectories(folder);
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        Path path = folder.resolve(file.getKey());
        Files.createDirectories(path.getParent());
        Files.write(path, file.getValue());
      }
      Files.writeString(folder.resolve("manifest.yaml"), text);
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
