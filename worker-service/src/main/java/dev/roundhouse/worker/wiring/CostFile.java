package dev.roundhouse.worker.wiring;

import dev.roundhouse.pjrt.CacheDirectory;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the file in which costs are kept. */
final class CostFile {
  private static final Logger log = LoggerFactory.getLogger(CostFile.class);

  private CostFile() {}

  /**
   * @param setting a path, {@code auto} or {@code none}
   * @return empty when costs are not kept
   */
  static Optional<Path> of(String setting, Map<String, String> environment) {
    return switch (setting) {
      case "none" -> Optional.empty();
      case "auto" -> auto(environment);
      default -> Optional.of(Path.of(setting));
    };
  }

  private static Optional<Path> auto(Map<String, String> environment) {
    Optional<Path> folder = CacheDirectory.of(environment::get);
    if (folder.isEmpty()) {
      log.warn(
          "what runs cost is not kept across restarts: there is no cache directory; {}, or set"
              + " roundhouse.worker.scheduler.cost-file to a path, or to none",
          CacheDirectory.ADVICE);
    }
    return folder.map(cache -> cache.resolve("costs.json"));
  }
}
