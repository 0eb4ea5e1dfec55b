package dev.roundhouse.engine.compile;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files of a cache: their total size, and eviction beyond the limit. Other processes may add
 * and remove files meanwhile. Thread-safe.
 */
final class EntryFolder {
  static final String ENTRY = ".program";
  static final String TEMPORARY = ".tmp";

  private static final Logger log = LoggerFactory.getLogger(EntryFolder.class);
  private static final String LOCK = "evict.lock";

  /** No write takes that long: its writer is gone. */
  private static final Duration LEFT_BEHIND = Duration.ofHours(1);

  private final Path folder;
  private final long maxBytes;
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicLong writtenSinceCount = new AtomicLong();

  EntryFolder(Path folder, long maxBytes) {
    this.folder = folder;
    this.maxBytes = maxBytes;
  }

  long bytes() {
    return bytes.get();
  }

  /** Removes abandoned writes, and evicts down to the limit. */
  void tidy() throws IOException {
    Instant past = Instant.now().minus(LEFT_BEHIND);
    for (Kept file : list(TEMPORARY)) {
      if (file.used.isBefore(past)) {
        Files.deleteIfExists(file.path);
      }
    }
    count();
  }

  /**
   * Other processes write too, so the files are counted again when a twentieth may have changed.
   */
  void onWritten(long size) throws IOException {
    long total = bytes.addAndGet(size);
    if (total > maxBytes || writtenSinceCount.addAndGet(size) > maxBytes / 20) {
      count();
    }
  }

  private synchronized void count() throws IOException {
    writtenSinceCount.set(0);
    List<Kept> kept = list(ENTRY);
    long total = kept.stream().mapToLong(Kept::size).sum();
    if (total > maxBytes) {
      total = evict(kept, total);
    }
    bytes.set(total);
  }

  /** Down to nine tenths, so that not every write evicts; nothing while another process does so. */
  private long evict(List<Kept> kept, long total) throws IOException {
    kept.sort(Comparator.comparing(Kept::used));
    try (FileChannel channel =
            FileChannel.open(
                folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        var lock = channel.tryLock()) {
      if (lock == null) {
        return total;
      }
      long left = total;
      int removed = 0;
      for (Kept entry : kept) {
        if (left <= maxBytes / 10 * 9) {
          break;
        }
        Files.deleteIfExists(entry.path);
        left -= entry.size;
        removed++;
      }
      log.info("{} compiled programs that were not used for longest are removed", removed);
      return left;
    } catch (OverlappingFileLockException anotherCacheOfThisProcess) {
      return total;
    }
  }

  private List<Kept> list(String suffix) throws IOException {
    List<Kept> kept = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      files
          .filter(file -> file.toString().endsWith(suffix))
          .forEach(
              file -> {
                try {
                  BasicFileAttributes read = Files.readAttributes(file, BasicFileAttributes.class);
                  kept.add(new Kept(file, read.size(), read.lastModifiedTime().toInstant()));
                } catch (IOException removedMeanwhile) {
                  log.debug("{} is gone: {}", file, removedMeanwhile.toString());
                }
              });
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    return kept;
  }

  /** A file as it was when it was looked at. */
  private record Kept(Path path, long size, Instant used) {}
}
