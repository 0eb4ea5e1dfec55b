package dev.roundhouse.worker.tee;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A folder of files of batches, of a bounded size: the oldest make room. A file has its name once
 * it is whole. Those that are there from before count, and files with other names are left alone.
 * For one thread.
 */
final class TeeFolder {
  private static final String END = ".safetensors";
  private static final String UNFINISHED = ".part";

  /** What {@link #write} calls files: model, time, number. */
  private static final Pattern OURS =
      Pattern.compile("[\\w.%-]+\\.\\d{13}-\\d{9}\\.safetensors(\\.part)?");

  private final Path folder;
  private final long mostBytes;
  private final long startedMillis = System.currentTimeMillis();

  /** The oldest first. */
  private final Deque<Sized> files = new ArrayDeque<>();

  private boolean looked;
  private long bytes;
  private long number;

  private record Sized(Path path, long bytes, long modifiedMillis) {}

  TeeFolder(Path folder, long mostBytes) {
    this.folder = folder;
    this.mostBytes = mostBytes;
  }

  /**
   * @param model what the name begins with
   * @throws IOException when it is too large, or cannot be written
   */
  void write(String model, SafetensorsFile content) throws IOException {
    look();
    long size = content.byteSize();
    if (size > mostBytes) {
      throw new IOException(
          "it has %d bytes, and roundhouse.worker.tee.folder-size is %d"
              .formatted(size, mostBytes));
    }
    forgetDeleted();
    for (Sized oldest = files.peek();
        oldest != null && bytes + size > mostBytes;
        oldest = files.peek()) {
      Files.deleteIfExists(oldest.path());
      forget(oldest);
    }
    String name = "%s.%013d-%09d%s".formatted(model, startedMillis, number++, END);
    Path unfinished = folder.resolve(name + UNFINISHED);
    Path file = folder.resolve(name);
    try {
      content.write(unfinished);
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | RuntimeException | Error e) {
      Files.deleteIfExists(unfinished);
      throw e;
    }
    files.add(new Sized(file, size, 0));
    bytes += size;
  }

  /** Learners delete what they have read, the oldest first. */
  private void forgetDeleted() {
    for (Sized oldest = files.peek();
        oldest != null && Files.notExists(oldest.path());
        oldest = files.peek()) {
      forget(oldest);
    }
  }

  /** Files that it counts. */
  int known() {
    return files.size();
  }

  private void forget(Sized oldest) {
    files.remove();
    bytes -= oldest.bytes();
  }

  private void look() throws IOException {
    if (looked) {
      return;
    }
    List<Sized> found = new ArrayList<>();
    try (Stream<Path> there = Files.list(folder)) {
      for (Path each : there.toList()) {
        String name = each.getFileName().toString();
        if (!OURS.matcher(name).matches() || !Files.isRegularFile(each)) {
          continue;
        }
        if (name.endsWith(UNFINISHED)) {
          Files.delete(each); // a process that was killed has left it
        } else {
          found.add(new Sized(each, Files.size(each), Files.getLastModifiedTime(each).toMillis()));
        }
      }
    }
    found.sort(
        Comparator.comparingLong(Sized::modifiedMillis)
            .thenComparing(each -> each.path().getFileName().toString()));
    for (Sized each : found) {
      files.add(each);
      bytes += each.bytes();
    }
    looked = true;
  }
}
