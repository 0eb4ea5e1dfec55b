package dev.roundhouse.worker.wiring;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Finds the file in which costs are kept. */
final class CostFile {
  private CostFile() {}

  /**
   * @param setting a path, {@code auto} or {@code none}
   * @return empty when costs are not kept
   */
  static Optional<Path> of(String setting, Map<String, String> environment) {
    return switch (setting) {
      case "none" -> Optional.empty();
      case "auto" -> Optional.of(cache(environment).resolve("costs.json"));
      default -> Optional.of(Path.of(setting));
    };
  }

  private static Path cache(Map<String, String> environment) {
    String own = environment.getOrDefault("ROUNDHOUSE_CACHE", "");
    if (!own.isBlank()) {
      return Path.of(own);
    }
    String shared = environment.getOrDefault("XDG_CACHE_HOME", "");
    Path base =
        shared.isBlank() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(shared);
    return base.resolve("roundhouse");
  }
}
