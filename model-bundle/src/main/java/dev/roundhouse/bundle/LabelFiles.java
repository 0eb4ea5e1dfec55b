package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Reads the files of class labels that a manifest names, each once. */
final class LabelFiles {
  /** They stay in memory as long as the model does. */
  static final int MOST_BYTES = 16 << 20;

  private final Path folder;
  private final BundleFiles files;
  private final Map<String, String> digests;
  private final Map<String, ClassLabels> read = new HashMap<>();

  LabelFiles(Path folder, BundleFiles files, Map<String, String> digests) {
    this.folder = folder;
    this.files = files;
    this.digests = digests;
  }

  /**
   * The model with what its label files say.
   *
   * @throws BundleException when one is missing, changed, too large, not one label per line, or has
   *     not the labels that the task answers with
   */
  ModelSpec readInto(ModelSpec spec) {
    ModelSpec labelled =
        spec.withOutputs(
            output ->
                output
                    .labels()
                    .map(file -> output.withClasses(read.computeIfAbsent(file, this::read)))
                    .orElse(output));
    labelled
        .task()
        .filter(task -> task.kind() == TextTask.Kind.CLASSIFY)
        .ifPresent(this::requireAll);
    return labelled;
  }

  private void requireAll(TextTask task) {
    TensorSpec result = task.result();
    for (int index = 0; index < Math.max(task.width(), result.classes().count()); index++) {
      if (index >= task.width() || result.classes().byteSize(index) == 0) {
        throw new BundleException(
            folder.resolve(result.labels().orElseThrow()).toString(),
            "has %d lines and %s, and output '%s' has %d classes, which task classify answers with the labels of; write one a line"
                .formatted(
                    result.classes().count(),
                    index >= task.width() ? "that is too many" : "no label in line " + (index + 1),
                    result.name(),
                    task.width()));
      }
    }
  }

  private ClassLabels read(String file) {
    Path path =
        files
            .find(file)
            .orElseThrow(
                () ->
                    new BundleException(
                        folder.resolve(file).toString(),
                        "is named as labels in the manifest, but is not there"));
    byte[] bytes = bytes(path);
    Optional.ofNullable(digests.get(file))
        .ifPresent(expected -> Digest.check(path, Digest.of(bytes), expected));
    try {
      return ClassLabels.parse(bytes);
    } catch (IllegalArgumentException e) {
      throw new BundleException(
          path.toString(), "is named as labels in the manifest, but " + e.getMessage(), e);
    }
  }

  private static byte[] bytes(Path path) {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(path)) {
      bytes = in.readNBytes(MOST_BYTES + 1);
    } catch (IOException e) {
      throw BundleException.inaccessible(path, "cannot be read", e);
    }
    if (bytes.length > MOST_BYTES) {
      throw new BundleException(
          path.toString(),
          "has more than %d bytes, which is the limit for labels; shorten them"
              .formatted(MOST_BYTES));
    }
    return bytes;
  }
}
