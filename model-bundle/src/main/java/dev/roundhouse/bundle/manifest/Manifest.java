package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.ModelSpec;
import java.util.Map;
import java.util.Optional;

/**
 * A manifest that breaks no rule that can be checked without the bundle's other files.
 *
 * @param digests sha256 in lower-case hexadecimal by file name; empty for format 2.0, which has
 *     none
 */
public record Manifest(ModelSpec spec, Optional<Map<String, String>> digests) {
  public Manifest {
    digests = digests.map(Map::copyOf);
  }
}
