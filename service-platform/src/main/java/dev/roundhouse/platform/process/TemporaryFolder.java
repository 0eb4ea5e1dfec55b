package dev.roundhouse.platform.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder for this process's files, private to its user, removed when it is closed, or, after a
 * kill, by the next process that makes such a folder. Thread-safe.
 *
 * <p>Its owner holds a lock on a file in it, which ends with the owner however that ends, and is
 * seen by containers that share the folder and cannot see each other's processes. The name carries
 * the owner's number and when it began: a process that opened the file of its own lock would lose
 * the lock when it closed the file, so it must know its own without looking.
 */
public final class TemporaryFolder implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TemporaryFolder.class);
  private static final String LOCK = "lock";
  private static final Pattern NAME = Pattern.compile("roundhouse-[a-z]+-([0-9]+-[0-9a-z]+)-[^/]*");

  /** For one whose owner has ended before it had the lock. */
  private static final Duration UNLOCKED = Duration.ofHours(1);

  private static final int TRIES = 10;

  /** Names are short: a domain socket's path has 107 characters at most. */
  private static final int RADIX = 36;

  private static final int RANDOM = 2_000_000_000;
  private static final FileAttribute<?> PRIVATE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final AtomicBoolean SWEPT = new AtomicBoolean();

  private final Path path;
  private final FileChannel lock;

  private TemporaryFolder(Path path, FileChannel lock) {
    this.path = path;
    this.lock = lock;
  }

  /**
   * Makes one in the system's folder for such files; the first of a process removes those that dead
   * processes have left.
   *
   * @param what it is for, in small letters
   */
  public static TemporaryFolder create(String what) {
    Path parent = Path.of(System.getProperty("java.io.tmpdir"));
    if (!SWEPT.getAndSet(true)) {
      sweep(parent);
    }
    return create(parent, what);
  }

  static TemporaryFolder create(Path parent, String what) {
    String prefix = "roundhouse-" + what + "-" + owner(ProcessHandle.current()) + "-";
    ThreadLocalRandom random = ThreadLocalRandom.current();
    try {
      for (int i = 0; i < TRIES; i++) {
        Path path = parent.resolve(prefix + Integer.toString(random.nextInt(RANDOM), RADIX));
        FileChannel lock = lock(Files.createDirectory(path, PRIVATE));
        if (lock != null) {
          path.toFile().deleteOnExit(); // after what is in it
          path.resolve(LOCK).toFile().deleteOnExit();
          return new TemporaryFolder(path, lock);
        }
      }
      throw new IOException("others remove it at once");
    } catch (IOException e) {
      throw new UncheckedIOException(
          "no temporary folder can be made in %s: %s; choose another with -Djava.io.tmpdir"
              .formatted(parent, e),
          e);
    }
  }

  /** Null when another process took it for an abandoned one before it was locked. */
  private static @Nullable FileChannel lock(Path folder) throws IOException {
    Path file = folder.resolve(LOCK);
    FileChannel channel;
    try {
      channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    } catch (NoSuchFileException gone) {
      return null;
    }
    FileLock held = channel.tryLock();
    if (held == null || !Files.exists(file)) {
      channel.close();
      return null;
    }
    return channel;
  }

  /** Which process: numbers are given again, so the time at which it began belongs to it. */
  private static String owner(ProcessHandle process) {
    long began = process.info().startInstant().orElse(Instant.EPOCH).toEpochMilli();
    return process.pid() + "-" + Long.toString(began, RADIX);
  }

  public Path path() {
    return path;
  }

  /** Removes folders in {@code parent} whose processes have ended. */
  static void sweep(Path parent) {
    String own = owner(ProcessHandle.current());
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, "roundhouse-*")) {
      for (Path folder : folders) {
        Matcher name = NAME.matcher(folder.getFileName().toString());
        if (name.matches() && !name.group(1).equals(own) && Files.isDirectory(folder)) {
          removeIfDead(folder);
        }
      }
    } catch (IOException | RuntimeException e) {
      log.debug("what dead processes have left in {} stays there: {}", parent, e.toString());
    }
  }

  private static void removeIfDead(Path folder) {
    Path file = folder.resolve(LOCK);
    try {
      if (!Files.isRegularFile(file)) {
        Instant made = Files.getLastModifiedTime(folder).toInstant();
        if (made.isBefore(Instant.now().minus(UNLOCKED))) {
          delete(folder);
        }
        return;
      }
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
          FileLock dead = channel.tryLock()) {
        if (dead != null) {
          delete(folder);
          log.info("removed {}, whose process has ended", folder);
        }
      }
    } catch (IOException | OverlappingFileLockException e) {
      log.debug("{} stays: {}", folder, e.toString()); // another user's, or taken by another
    }
  }

  private static void delete(Path folder) throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
              throws IOException {
            Files.deleteIfExists(directory);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  /** Removes it with what is in it. */
  @Override
  public void close() {
    try {
      delete(path);
      lock.close();
    } catch (IOException e) {
      log.debug("{} is left behind: {}", path, e.toString());
    }
  }
}
