package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.RunMark;
import dev.roundhouse.engine.model.ModelLoadListener;
import dev.roundhouse.worker.lifecycle.JournalEntry.Key;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Remembers across processes which models they ended over, and keeps one from being loaded over
 * which two have: what is being loaded and whose run is on the device stands in a file, which the
 * next process reads when this one is dead. Where the file cannot be written models are loaded all
 * the same. Thread-safe; {@link #running} and {@link #idle} are the dispatch thread's, and a store
 * each.
 */
public final class ModelJournal implements ModelLoadListener, RunMark, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ModelJournal.class);

  private final @Nullable JournalFolder folder;
  private final String id = ProcessHandle.current().pid() + "-" + UUID.randomUUID();
  private final Map<Key, Integer> slots = new HashMap<>();
  private final Set<Key> ready = new HashSet<>();
  private final Map<String, Key> loading = new HashMap<>();

  /** The slot of the model whose run is on the device, and one; 0 for none. */
  private final ByteBuffer run;

  private final @Nullable FileChannel locked;
  private boolean suspectLoads;
  private boolean failing;

  private volatile boolean unwritable;

  /** Of one that remembers nothing. */
  private ModelJournal() {
    folder = null;
    locked = null;
    run = ByteBuffer.allocateDirect(JournalFolder.RUN_BYTES);
  }

  private ModelJournal(JournalFolder folder) throws IOException {
    this.folder = folder;
    locked = JournalFolder.channel(folder.file(id + JournalFolder.RUN));
    locked.lock();
    run =
        locked
            .map(FileChannel.MapMode.READ_WRITE, 0, JournalFolder.RUN_BYTES)
            .order(ByteOrder.nativeOrder());
    append("process\t%d\t%d".formatted(ProcessHandle.current().pid(), System.currentTimeMillis()));
  }

  /**
   * Reads what dead processes left, and begins.
   *
   * @param where empty to remember nothing
   */
  public static ModelJournal open(Optional<Path> where) {
    if (where.isPresent()) {
      try {
        JournalFolder folder = JournalFolder.open(where.get());
        folder.judgeTheDead();
        return new ModelJournal(folder);
      } catch (IOException | UnsupportedOperationException e) {
        log.warn(
            "what is loaded and run cannot be noted in {}: {}; a model over which the worker ends is loaded again",
            where.get(),
            e.toString());
      }
    }
    return new ModelJournal();
  }

  @Override
  public void running(int modelIndex) {
    run.putInt(0, modelIndex + 1);
  }

  @Override
  public void idle() {
    run.putInt(0, 0);
  }

  /** True when it is to be loaded after the others, and by itself. */
  public boolean isSuspect(String model) {
    return strikes().values().stream()
        .anyMatch(strike -> strike.key().model().equals(model) && strike.isSuspect());
  }

  @Override
  public void onBegin(String model, String version, String fingerprint) {
    Key key = new Key(model, version, fingerprint);
    Strike strike = strikes().get(key);
    if (strike != null && strike.isQuarantined()) {
      throw new BundleException("model '" + model + "'", reason(strike));
    }
    takeTurn(key, strike != null);
  }

  private String reason(Strike strike) {
    Path file = folder == null ? Path.of("") : folder.strikesFile();
    return "version '%s' is in quarantine, as %d workers ended over it, the last on %s: %s; replace its files, or remove its line from %s, and load it again"
        .formatted(
            strike.key().version(),
            strike.count(),
            strike.when().truncatedTo(ChronoUnit.SECONDS),
            strike.how(),
            file);
  }

  /** One that is suspected is loaded while nothing else is. */
  private synchronized void takeTurn(Key key, boolean suspect) {
    boolean interrupted = false;
    while (!failing && (suspect ? !loading.isEmpty() : suspectLoads)) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    suspectLoads |= suspect;
    loading.put(name(key.model(), key.version()), key);
    append("begin\t\t" + key.line());
  }

  @Override
  public synchronized void onBuilt(String model, String version, int modelIndex) {
    Key key = loading.get(name(model, version));
    if (key != null) {
      slots.values().removeIf(taken -> taken == modelIndex);
      slots.put(key, modelIndex);
      append("built\t" + modelIndex + "\t" + key.line());
    }
  }

  @Override
  public void onEnd(String model, String version, boolean isReady) {
    Key key;
    synchronized (this) {
      key = loading.remove(name(model, version));
      if (key == null) {
        return;
      }
      suspectLoads = false;
      notifyAll();
      append("end\t\t" + key.line());
      if (isReady) {
        ready.add(key);
      }
    }
    Strike strike = strikes().get(key);
    if (isReady && strike != null && strike.kind() == Strike.Kind.LOAD) {
      forget(Set.of(key));
    }
  }

  /**
   * The engine has failed: what runs is to blame when it is a run that did not end. Brief.
   *
   * @param cause as the engine tells it
   */
  public synchronized void onFailing(Throwable cause) {
    failing = true;
    notifyAll();
    int slot = run.getInt(0) - 1;
    if (FailStop.isRunThatHangs(cause)) {
      slots.forEach(
          (key, taken) -> {
            if (taken == slot) {
              append("hung\t\t" + key.line());
            }
          });
    }
  }

  /** The process ends in order: no model has anything to do with it. */
  @Override
  public void close() {
    Set<Key> served;
    synchronized (this) {
      if (failing || folder == null || locked == null) {
        return;
      }
      failing = true;
      notifyAll();
      served = Set.copyOf(ready);
    }
    forget(served);
    try {
      Files.deleteIfExists(folder.file(id + JournalFolder.LOG));
      Files.deleteIfExists(folder.file(id + JournalFolder.RUN));
      locked.close();
    } catch (IOException e) {
      log.warn("what was noted of loads and runs cannot be removed: {}", e.toString());
    }
  }

  private void forget(Set<Key> keys) {
    try {
      if (folder != null && folder.strikes().keySet().stream().anyMatch(keys::contains)) {
        folder.change(strikes -> strikes.keySet().removeAll(keys));
      }
    } catch (IOException e) {
      log.warn("strikes against {} cannot be forgotten: {}", keys, e.toString());
    }
  }

  private Map<Key, Strike> strikes() {
    try {
      return folder == null ? Map.of() : folder.strikes();
    } catch (IOException e) {
      log.warn(
          "{} cannot be read: {}; nothing is in quarantine", folder.strikesFile(), e.toString());
      return Map.of();
    }
  }

  private void append(String line) {
    if (folder == null || unwritable) {
      return;
    }
    try {
      Files.writeString(
          folder.file(id + JournalFolder.LOG),
          CheckedLine.of(line) + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      unwritable = true; // said once
      log.warn("what is loaded cannot be noted any more: {}", e.toString());
    }
  }

  private static String name(String model, String version) {
    return model + "\t" + version;
  }
}
