package dev.roundhouse.engine.compile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compiled programs in files, for the next start. Several processes may share a folder: files
 * appear by rename and are read whole, so no reader needs a lock, and whoever evicts takes one. An
 * entry that cannot be read or written is a warning, never a failure: the program is compiled.
 * Thread-safe.
 *
 * <p>Anyone who can write to the folder can run code in this process, so it is created for its
 * owner only.
 */
public final class ExecutableCache {
  private static final Logger log = LoggerFactory.getLogger(ExecutableCache.class);
  private static final String PRIVATE = "rwx------";
  private static final long MOST_BYTES = Integer.MAX_VALUE - 64L;
  private static final long QUIET_NANOS = TimeUnit.MINUTES.toNanos(10);

  private final Path folder;
  private final long maxBytes;
  private final EntryFolder entries;
  private final AtomicLong quietUntilNanos = new AtomicLong(System.nanoTime());

  /** Default limit on the total size of its files. */
  public static final long DEFAULT_MAX_BYTES = 8L << 30;

  private ExecutableCache(Path folder, long maxBytes) {
    this.folder = folder;
    this.maxBytes = maxBytes;
    this.entries = new EntryFolder(folder, maxBytes);
  }

  /**
   * Opens a folder, and makes it if need be. If it cannot be used, that is logged and the cache
   * stays empty.
   *
   * @param maxBytes that its files may have together; those that were not used for longest go first
   */
  public static ExecutableCache open(Path folder, long maxBytes) {
    ExecutableCache cache = new ExecutableCache(folder, maxBytes);
    try {
      if (!Files.isDirectory(folder)) {
        Files.createDirectories(folder.toAbsolutePath().getParent());
        Files.createDirectory(
            folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(PRIVATE)));
      }
      cache.entries.tidy();
    } catch (IOException e) {
      if (!Files.isDirectory(folder)) { // else another process was faster
        cache.warn(e);
      }
    }
    return cache;
  }

  /** Bytes of the files as last counted: at the start, and whenever some were written. */
  public long bytes() {
    return entries.bytes();
  }

  public long maxBytes() {
    return maxBytes;
  }

  /** The executable that was kept under a key; marks it as used. */
  Optional<byte[]> read(ExecutableKey key) throws DamagedEntryException {
    Path file = file(key);
    byte[] content;
    try {
      checkKind(file);
      content = Files.readAllBytes(file);
    } catch (NoSuchFileException absent) {
      return Optional.empty();
    } catch (IOException e) {
      throw new DamagedEntryException("it cannot be read: " + e);
    }
    byte[] executable = CacheEntry.read(key, content);
    try {
      Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
    } catch (IOException readOnly) {
      log.debug("{} is not marked as used: {}", file, readOnly.toString());
    }
    return Optional.of(executable);
  }

  /** Reading a pipe would block forever, and reading a file too large for an array fails badly. */
  private void checkKind(Path file) throws IOException {
    long most = Math.min(maxBytes, MOST_BYTES);
    BasicFileAttributes found;
    try {
      found = Files.readAttributes(file, BasicFileAttributes.class);
    } catch (NoSuchFileException absent) { // or evicted by another process
      return; // as who reads it is told, and why
    }
    if (!found.isRegularFile()) {
      throw new IOException("it is no file");
    }
    if (found.size() > most) {
      throw new IOException(
          "it has %d bytes, and an entry has %d at most".formatted(found.size(), most));
    }
  }

  void write(ExecutableKey key, byte[] executable) {
    long size = (long) CacheEntry.HEADER_BYTES + executable.length;
    if (size > maxBytes) {
      log.debug("an executable of {} bytes is larger than the cache of {}", size, maxBytes);
      return;
    }
    try {
      Path temporary = Files.createTempFile(folder, key.sha256(), EntryFolder.TEMPORARY);
      try {
        Files.write(temporary, CacheEntry.write(key, executable));
        Files.move(temporary, file(key), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(temporary);
      }
      entries.onWritten(size);
    } catch (IOException e) {
      warn(e);
    }
  }

  void remove(ExecutableKey key) {
    try {
      Files.deleteIfExists(file(key));
    } catch (IOException e) {
      warn(e);
    }
  }

  Path file(ExecutableKey key) {
    return folder.resolve(key.sha256() + EntryFolder.ENTRY);
  }

  /** Once in a while: a full disk concerns every program. */
  private void warn(IOException failure) {
    long now = System.nanoTime();
    long until = quietUntilNanos.get();
    if (now - until >= 0 && quietUntilNanos.compareAndSet(until, now + QUIET_NANOS)) {
      log.warn(
          "compiled programs are not kept, so the next start compiles them again: {} cannot be"
              + " written: {}",
          folder,
          failure.toString());
    }
  }
}
