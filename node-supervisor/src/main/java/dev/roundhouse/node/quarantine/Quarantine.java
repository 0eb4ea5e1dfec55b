package dev.roundhouse.node.quarantine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which models one worker is to leave out: those that it was loading when it crashed, too often,
 * with the files they have now. Changed files have another chance. Owned by the thread {@code
 * supervisor}; {@link #leftOut} is for any.
 */
public final class Quarantine {
  private static final Logger log = LoggerFactory.getLogger(Quarantine.class);

  private final String worker;
  private final Path loadingFile;
  private final int limit;
  private final Map<String, Suspect> suspects = new HashMap<>();
  private boolean severalAtOnce;
  private volatile Map<String, Integer> leftOut = Map.of();

  /**
   * @param worker for the log
   * @param loadingFile that the worker writes
   * @param limit crashes over a model until it is left out; 0 for never
   */
  public Quarantine(String worker, Path loadingFile, int limit) {
    this.worker = worker;
    this.loadingFile = loadingFile;
    this.limit = limit;
  }

  private record Suspect(Path folder, String fingerprint, int crashes) {}

  /** Takes note of what was being loaded, and forgets the file. */
  public void onCrash(int code) {
    List<Loading> loading = Loading.read(loadingFile);
    forget();
    severalAtOnce = loading.size() > 1;
    for (Loading each : loading) {
      String fingerprint = fingerprint(each.folder());
      Suspect known = suspects.get(each.model());
      int before = known != null && known.fingerprint.equals(fingerprint) ? known.crashes : 0;
      suspects.put(each.model(), new Suspect(each.folder(), fingerprint, before + 1));
      log.warn(
          "{} ended with exit code {} while it was loading model '{}': {} of {} times",
          worker,
          code,
          each.model(),
          before + 1,
          limit == 0 ? "any number of" : limit);
      if (limit > 0 && before + 1 >= limit) {
        log.error(
            "model '{}' is left out of {} from now on; it is tried again when its files have changed"
                + " and the worker starts again",
            each.model(),
            worker);
      }
    }
    publish();
  }

  /** Names that the next start leaves out, in order. */
  public List<String> beforeStart() {
    suspects
        .entrySet()
        .removeIf(
            each -> {
              boolean changed =
                  !fingerprint(each.getValue().folder).equals(each.getValue().fingerprint);
              if (changed && isOver(each.getValue())) {
                log.info(
                    "the files of model '{}' have changed; {} tries it again",
                    each.getKey(),
                    worker);
              }
              return changed;
            });
    publish();
    return List.copyOf(leftOut.keySet());
  }

  /**
   * Whether the next start is to load one model after the other, so that it is known which it is.
   */
  public boolean oneByOne() {
    return limit > 0
        && severalAtOnce
        && suspects.values().stream().anyMatch(suspect -> !isOver(suspect));
  }

  /** Crashes of each model that is left out, by name. */
  public Map<String, Integer> leftOut() {
    return leftOut;
  }

  private boolean isOver(Suspect suspect) {
    return limit > 0 && suspect.crashes >= limit;
  }

  private void publish() {
    Map<String, Integer> over = new TreeMap<>();
    suspects.forEach(
        (model, suspect) -> {
          if (isOver(suspect)) {
            over.put(model, suspect.crashes);
          }
        });
    leftOut = over;
  }

  private void forget() {
    try {
      Files.deleteIfExists(loadingFile);
    } catch (IOException e) {
      log.warn("{} cannot be deleted: {}", loadingFile, e.toString());
    }
  }

  /** Changes with any file; of a folder that cannot be read, why. */
  private static String fingerprint(Path folder) {
    try (Stream<Path> files = Files.walk(folder, 4)) {
      return files.sorted().map(Quarantine::describe).collect(Collectors.joining("\n"));
    } catch (IOException | UncheckedIOException e) {
      return e.toString();
    }
  }

  private static String describe(Path file) {
    try {
      return file
          + " "
          + (Files.isDirectory(file) ? "" : Files.size(file))
          + " "
          + Files.getLastModifiedTime(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
