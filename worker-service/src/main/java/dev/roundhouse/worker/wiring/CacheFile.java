package dev.roundhouse.worker.wiring;

import dev.roundhouse.pjrt.CacheDirectory;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file kept across restarts: in the cache directory, elsewhere, or not at all.
 *
 * @param what is lost without it, for the log
 * @param key of the setting that names another place
 * @param name in the cache directory
 */
record CacheFile(String what, String key, String name) {
  static final CacheFile COSTS =
      new CacheFile("what runs cost is", "roundhouse.worker.scheduler.cost-file", "costs.json");

  static final CacheFile EXECUTABLES =
      new CacheFile("compiled programs are", "roundhouse.worker.compile.cache", "executables");

  private static final String JOURNAL = "journal";
  private static final String WEIGHT_DIGESTS = "weight-digests";

  private static final Logger log = LoggerFactory.getLogger(CacheFile.class);

  /**
   * @param setting a path, {@code auto} or {@code none}
   * @return empty when it is not kept
   */
  Optional<Path> of(String setting, Map<String, String> environment) {
    return switch (setting) {
      case "none" -> Optional.empty();
      case "auto" -> auto(environment);
      default -> Optional.of(Path.of(setting));
    };
  }

  /**
   * The folder of the journal: in the cache directory, or in the folder that compiled programs are
   * kept in.
   *
   * @param setting where those are, as in {@link #of}
   */
  static Optional<Path> journal(String setting, Map<String, String> environment) {
    return besidePrograms(JOURNAL, setting, environment);
  }

  /** The folder of digests of weights; where, as in {@link #journal}. */
  static Optional<Path> weightDigests(String setting, Map<String, String> environment) {
    return besidePrograms(WEIGHT_DIGESTS, setting, environment);
  }

  private static Optional<Path> besidePrograms(
      String name, String setting, Map<String, String> environment) {
    return switch (setting) {
      case "none" -> Optional.empty();
      case "auto" -> CacheDirectory.of(environment::get).map(cache -> cache.resolve(name));
      default -> Optional.of(Path.of(setting, name));
    };
  }

  private Optional<Path> auto(Map<String, String> environment) {
    Optional<Path> folder = CacheDirectory.of(environment::get);
    if (folder.isEmpty()) {
      log.warn(
          "{} not kept across restarts: there is no cache directory; {}, or set {} to a path, or to"
              + " none",
          what,
          CacheDirectory.ADVICE,
          key);
    }
    return folder.map(cache -> cache.resolve(name));
  }
}
