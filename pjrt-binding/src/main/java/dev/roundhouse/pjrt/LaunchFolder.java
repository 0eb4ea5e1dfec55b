package dev.roundhouse.pjrt;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder of temporary files in which compiler processes run, and from which they load what had to
 * be copied. Deleted by whoever made it or, when that was killed, by a process that is in it; when
 * they were all killed, by the next start of an application, which looks for folders of such names
 * whose lock nobody holds ({@code TemporaryFolder} of service-platform).
 */
final class LaunchFolder {
  private static final Logger log = LoggerFactory.getLogger(LaunchFolder.class);
  private static final String NAME = "roundhouse-compiler-";
  private static final String SCRATCH = "scratch";
  private static final int RADIX = 36;

  /** Open as long as the folder is there: closing the file would end the lock. */
  private static final Map<Path, FileChannel> LOCKS = new ConcurrentHashMap<>();

  private LaunchFolder() {}

  static Path create() throws IOException {
    ProcessHandle own = ProcessHandle.current();
    long began = own.info().startInstant().orElse(Instant.EPOCH).toEpochMilli();
    Path folder =
        Files.createTempDirectory(NAME + own.pid() + "-" + Long.toString(began, RADIX) + "-");
    FileChannel lock =
        FileChannel.open(
            folder.resolve("lock"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    LOCKS.put(folder, lock);
    lock.lock();
    return folder;
  }

  /** A folder in it for what a process writes. */
  static Path scratch(Path folder) throws IOException {
    return Files.createDirectory(folder.resolve(SCRATCH));
  }

  /** Does nothing to a folder of another kind. */
  static void delete(Path folder) {
    Path name = folder.getFileName();
    if (name == null || !name.toString().startsWith(NAME)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
      FileChannel lock = LOCKS.remove(folder);
      if (lock != null) {
        lock.close();
      }
    } catch (IOException e) {
      log.debug("{} is left behind: {}", folder, e.toString());
    }
  }
}
