package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.worker.lifecycle.JournalEntry.Key;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files of the journal, which several processes share: two of each process, {@code ID.run},
 * which it keeps locked while it lives and where its dispatch thread records whose run is on the
 * device, and {@code ID.log}; and {@code strikes}, changed under {@code lock}. A lock ends with its
 * process however that ends, also across containers with separate process numbers.
 */
final class JournalFolder {
  private static final Logger log = LoggerFactory.getLogger(JournalFolder.class);

  static final String RUN = ".run";
  static final String LOG = ".log";
  static final int RUN_BYTES = 64;

  private static final String STRIKES = "strikes";

  /** Locks of files are of the process, not of the thread. */
  private static final Object THREADS = new Object();

  private final Path folder;

  private JournalFolder(Path folder) {
    this.folder = folder;
  }

  static JournalFolder open(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      Files.createDirectories(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
    return new JournalFolder(folder);
  }

  Path file(String name) {
    return folder.resolve(name);
  }

  Path strikesFile() {
    return folder.resolve(STRIKES);
  }

  /** Strikes as they are at the moment, by the model they are of. */
  Map<Key, Strike> strikes() throws IOException {
    Map<Key, Strike> strikes = new LinkedHashMap<>();
    for (String text : strikeLines().good()) {
      Strike.read(text).ifPresent(strike -> strikes.put(strike.key(), strike));
    }
    return strikes;
  }

  private CheckedLine.Texts strikeLines() throws IOException {
    try {
      return CheckedLine.Texts.read(strikesFile());
    } catch (NoSuchFileException none) {
      return new CheckedLine.Texts(List.of(), 0);
    }
  }

  /** Changes the strikes while no other process does. */
  void change(Consumer<Map<Key, Strike>> change) throws IOException {
    synchronized (THREADS) {
      try (FileChannel lock = channel(folder.resolve("lock"));
          FileLock held = lock.lock()) {
        Map<Key, Strike> strikes = strikes();
        Map<Key, Strike> before = Map.copyOf(strikes);
        change.accept(strikes);
        if (!strikes.equals(before)) {
          Path next = folder.resolve(STRIKES + ".next");
          Files.write(
              next, strikes.values().stream().map(Strike::line).map(CheckedLine::of).toList());
          Files.move(next, strikesFile(), StandardCopyOption.ATOMIC_MOVE);
        }
        log.trace("{} is changed under {}", strikesFile(), held);
      }
    }
  }

  /** Judges what processes left that are dead, and removes it. */
  void judgeTheDead() throws IOException {
    List<Path> runs;
    try (Stream<Path> files = Files.list(folder)) {
      runs = files.filter(file -> file.toString().endsWith(RUN)).sorted().toList();
    }
    int damaged = strikeLines().damaged();
    if (damaged > 0) {
      log.warn("{} lines of {} are damaged and passed over", damaged, strikesFile());
    }
    change(strikes -> runs.forEach(run -> judge(run, strikes)));
  }

  private void judge(Path run, Map<Key, Strike> strikes) {
    Path entry = Path.of(run.toString().replaceFirst("\\.run$", LOG));
    try (FileChannel channel =
        FileChannel.open(run, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      FileLock lock = tried(channel);
      if (lock == null) {
        return; // it lives
      }
      ByteBuffer slot = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.nativeOrder());
      channel.read(slot, 0);
      if (Files.exists(entry)) {
        JournalEntry dead = JournalEntry.read(CheckedLine.Texts.read(entry).good());
        Instant ended = Files.getLastModifiedTime(entry).toInstant();
        note(dead.verdict(slot.getInt(0) - 1, hasCrashed(dead)), ended, strikes);
      }
      Files.deleteIfExists(entry);
      Files.deleteIfExists(run);
    } catch (NoSuchFileException another) {
      log.debug("{} has been judged by another worker", run);
    } catch (IOException e) {
      log.warn("what an earlier worker noted in {} cannot be read: {}", run, e.toString());
    }
  }

  private static @Nullable FileLock tried(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException ofThisProcess) {
      return null;
    }
  }

  /** Whether the JVM left its report of a crash, where -XX:ErrorFile puts it. */
  private boolean hasCrashed(JournalEntry dead) {
    Path report = folder.resolve("hs_err_" + dead.pid() + ".log");
    try {
      FileTime written = Files.getLastModifiedTime(report);
      return written.toMillis() >= dead.sinceMillis() - 1000;
    } catch (IOException none) {
      return false;
    }
  }

  private static void note(JournalEntry.Verdict verdict, Instant ended, Map<Key, Strike> strikes) {
    boolean certain = verdict.blamed().size() == 1;
    for (Key key : new ArrayList<>(verdict.blamed())) {
      Strike known = strikes.get(key);
      int before = known == null ? 0 : known.count();
      Strike strike =
          new Strike(key, before + (certain ? 1 : 0), verdict.kind(), ended, verdict.how());
      strikes.put(key, strike);
      if (strike.isQuarantined()) {
        log.error(
            "model '{}' version '{}' is in quarantine: {} for the {}. time",
            key.model(),
            key.version(),
            strike.how(),
            strike.count());
      } else if (certain) {
        log.warn(
            "an earlier worker ended over model '{}' version '{}': {}; the next time it is put in quarantine",
            key.model(),
            key.version(),
            strike.how());
      } else {
        log.warn(
            "model '{}' version '{}' was one of {} that were loaded when an earlier worker ended: it is loaded by itself, after the others",
            key.model(),
            key.version(),
            verdict.blamed().size());
      }
    }
  }

  static FileChannel channel(Path file) throws IOException {
    return FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }
}
