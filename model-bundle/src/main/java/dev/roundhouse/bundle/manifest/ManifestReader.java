package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.error.BundleException;
import java.nio.file.Path;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Reads a bundle's manifest, whichever format it is written in. */
public final class ManifestReader {
  private ManifestReader() {}

  /**
   * Reads and checks a manifest.
   *
   * @param modelName the bundle folder's name, which is the model's
   * @throws BundleException naming every problem with its key path, value and rule
   */
  public static Manifest read(Path manifest, String modelName) {
    String file = manifest.toString();
    return read(ManifestYaml.read(manifest), file, modelName);
  }

  /** As {@link #read(Path, String)}, of bytes already in memory. */
  public static Manifest read(byte[] yaml, String file, String modelName) {
    return read(ManifestYaml.parse(yaml, file), file, modelName);
  }

  private static Manifest read(ObjectNode root, String file, String modelName) {
    Problems problems = new Problems(file);
    Fields fields = new Fields(root, "", problems);
    JsonNode version = root.get("format_version");
    String text = version != null && version.isString() ? version.stringValue() : "";
    return switch (text) {
      case "2.0", "2" -> new Format2Reader(fields, modelName, problems).read();
      case "3" -> new Format3Reader(fields, modelName, problems).read();
      default -> {
        problems.add(
            "format_version",
            (version == null ? "is missing" : "is " + Fields.shown(version))
                + "; served are the strings \"2.0\", \"2\" and \"3\" (in quotes)");
        throw problems.refusal();
      }
    };
  }
}
