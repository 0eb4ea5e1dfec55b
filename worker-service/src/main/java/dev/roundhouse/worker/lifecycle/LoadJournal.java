package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.model.LoadListener;
import dev.roundhouse.worker.config.RepositoryProperties;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a file that names what is being loaded, so that whoever finds the worker dead knows over
 * what; and refuses what the operator leaves out. The file has a line for each load, name and
 * folder apart by a tab, and is replaced as a whole: a reader sees what was true at one moment.
 * Thread-safe.
 */
public final class LoadJournal implements LoadListener {
  private static final Logger log = LoggerFactory.getLogger(LoadJournal.class);

  private final List<Path> directories;
  private final Set<String> leftOut;
  private final String file;
  private final Map<List<String>, String> loading = new LinkedHashMap<>();

  public LoadJournal(RepositoryProperties settings) {
    directories = settings.directories();
    leftOut = Set.copyOf(settings.leaveOut());
    file = settings.loadingFile();
  }

  @Override
  public void onBegin(String model, String version, String fingerprint) {
    if (leftOut.contains(model)) {
      throw new BundleException(
          "model '" + model + "'",
          "is left out by roundhouse.worker.repository.leave-out; remove its name there to load it");
    }
    change(() -> loading.put(List.of(model, version), model + "\t" + folder(model) + "\n"));
  }

  @Override
  public void onEnd(String model, String version, boolean ready) {
    change(() -> loading.remove(List.of(model, version)));
  }

  private synchronized void change(Runnable change) {
    if (file.isEmpty()) {
      return;
    }
    change.run();
    Path written = Path.of(file);
    Path next = written.resolveSibling(written.getFileName() + ".next");
    try {
      Files.writeString(next, String.join("", new ArrayList<>(loading.values())));
      Files.move(next, written, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      // a model is worth more than a note about it
      log.warn("what is being loaded cannot be noted in {}: {}", file, e.toString());
    }
  }

  private Path folder(String model) {
    return directories.stream()
        .map(directory -> directory.resolve(model).toAbsolutePath())
        .filter(Files::isDirectory)
        .findFirst()
        .orElse(directories.getFirst().resolve(model).toAbsolutePath());
  }
}
