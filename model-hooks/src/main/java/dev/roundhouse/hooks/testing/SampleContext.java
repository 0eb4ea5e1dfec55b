package dev.roundhouse.hooks.testing;

import dev.roundhouse.hooks.ModelContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A model for a test of one's own hooks: a folder of assets, and labels. Immutable.
 *
 * @param labels by output
 */
public record SampleContext(String name, Path folder, Map<String, List<String>> labels)
    implements ModelContext {
  public SampleContext {
    labels = Map.copyOf(labels);
  }

  @Override
  public String version() {
    return "1";
  }

  @Override
  public Path asset(String file) {
    Path asset = folder.resolve(file);
    if (!Files.isRegularFile(asset)) {
      throw new IllegalArgumentException("model '%s' has no file '%s'".formatted(name, file));
    }
    return asset;
  }

  @Override
  public byte[] bytes(String file) {
    try {
      return Files.readAllBytes(asset(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public List<String> labels(String output) {
    return labels.getOrDefault(output, List.of());
  }

  @Override
  public System.Logger logger() {
    return System.getLogger(name);
  }
}
