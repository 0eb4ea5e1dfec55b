package dev.roundhouse.worker.trace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file with a JSON array that grows: after every {@link #append} it is whole. Open only while it
 * is written to. One thread's.
 */
final class TraceFile {
  private static final byte[] END = "\n]\n".getBytes(StandardCharsets.UTF_8);

  private final Path path;
  private long endsAt;
  private int traces;

  TraceFile(Path path) {
    this.path = path;
  }

  Path path() {
    return path;
  }

  /** Bytes that it has. */
  long size() {
    return endsAt == 0 ? 0 : endsAt + END.length;
  }

  /** Traces that have been written to it. */
  int traces() {
    return traces;
  }

  /**
   * Adds elements of the array; the first time in the place of what the file had in it.
   *
   * @param elements with commas between them
   * @param count of traces that they make up
   */
  void append(String elements, int count) throws IOException {
    boolean first = endsAt == 0;
    byte[] text = ((first ? "[\n" : ",\n") + elements).getBytes(StandardCharsets.UTF_8);
    ByteBuffer bytes = ByteBuffer.allocate(text.length + END.length).put(text).put(END).flip();
    try (FileChannel file =
        first
            ? FileChannel.open(
                path,
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)
            : FileChannel.open(path, StandardOpenOption.WRITE)) {
      long at = endsAt;
      while (bytes.hasRemaining()) {
        at += file.write(bytes, at);
      }
      endsAt = at - END.length;
    }
    traces += count;
  }
}
