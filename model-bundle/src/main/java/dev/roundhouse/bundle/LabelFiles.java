package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import java.util.HashMap;
import java.util.Map;

/** Reads the files of class labels that a manifest names, each once. */
final class LabelFiles {
  /** They stay in memory as long as the model does. */
  static final int MOST_BYTES = 16 << 20;

  private final AssetFiles assets;
  private final Map<String, ClassLabels> read = new HashMap<>();

  LabelFiles(AssetFiles assets) {
    this.assets = assets;
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
            assets.path(result.labels().orElseThrow()).toString(),
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
    byte[] bytes = assets.read(file, "labels", MOST_BYTES);
    try {
      return ClassLabels.parse(bytes);
    } catch (IllegalArgumentException e) {
      throw new BundleException(
          assets.path(file).toString(),
          "is named as labels in the manifest, but " + e.getMessage(),
          e);
    }
  }
}
