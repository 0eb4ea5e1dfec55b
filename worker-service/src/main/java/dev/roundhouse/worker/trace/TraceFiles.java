package dev.roundhouse.worker.trace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The trace files: one file, and numbered ones, the oldest of which is replaced at the limit, so
 * that clients cannot fill a disk. For one thread.
 */
final class TraceFiles {
  private final Path path;
  private final int mostFiles;
  private final long mostBytes;

  /** Sizes of existing files in bytes, the oldest first; null until they have been listed. */
  private final Map<Path, Long> sizes = new LinkedHashMap<>();

  private boolean looked;
  private long bytes;
  private int nextIndex;

  /**
   * @param path of the one file
   * @param mostFiles numbered ones
   * @param mostBytes of all together
   */
  TraceFiles(Path path, int mostFiles, long mostBytes) {
    this.path = path;
    this.mostFiles = mostFiles;
    this.mostBytes = mostBytes;
  }

  /** The file for traces that all go to one. */
  Path single() {
    return path;
  }

  /** A numbered file; no earlier writer still writes to it. */
  Path next() {
    Path file = numbered(nextIndex);
    nextIndex = (nextIndex + 1) % mostFiles;
    forget(file);
    return file;
  }

  /**
   * Makes room before a write by removing the oldest numbered file.
   *
   * @return false when there is no such file
   */
  boolean makeRoom(Path file, long added) throws IOException {
    look();
    Iterator<Map.Entry<Path, Long>> oldest = sizes.entrySet().iterator();
    while (bytes + added > mostBytes && oldest.hasNext()) {
      Map.Entry<Path, Long> each = oldest.next();
      if (!each.getKey().equals(file) && !each.getKey().equals(path)) {
        Files.deleteIfExists(each.getKey());
        bytes -= each.getValue();
        oldest.remove();
      }
    }
    return bytes + added <= mostBytes;
  }

  /** Call after a file was written. */
  void written(Path file, long size) {
    forget(file);
    sizes.put(file, size);
    bytes += size;
  }

  private void forget(Path file) {
    Long before = sizes.remove(file);
    bytes -= before == null ? 0 : before;
  }

  /** Files left by an earlier process count too. */
  private void look() throws IOException {
    if (looked) {
      return;
    }
    looked = true;
    for (int i = 0; i < mostFiles; i++) {
      Path file = numbered(i);
      if (!sizes.containsKey(file) && Files.isRegularFile(file)) {
        written(file, Files.size(file));
      }
    }
  }

  private Path numbered(int index) {
    return Path.of(path + "." + index);
  }
}
