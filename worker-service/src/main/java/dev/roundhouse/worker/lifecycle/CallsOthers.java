package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.ModelFolder;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Tells folders of metas and ensembles, which are loaded after the models that they call. */
final class CallsOthers {
  private static final Pattern META = Pattern.compile("(?m)^kind:[ ]*[\"']?(meta|ensemble)\\b");

  private CallsOthers() {}

  /** False too when that cannot be read: loading it says why. */
  static boolean isOne(Path folder) {
    try {
      for (ModelFolder.Version version : ModelFolder.versions(folder)) {
        Path manifest = version.directory().resolve("manifest.yaml");
        if (META.matcher(Files.readString(manifest)).find()) {
          return true;
        }
      }
      return false;
    } catch (IOException | BundleException e) {
      return false;
    }
  }
}
