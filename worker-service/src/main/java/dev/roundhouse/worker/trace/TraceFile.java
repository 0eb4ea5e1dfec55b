package dev.roundhouse.worker.trace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file with a growing JSON array, complete after every {@link #append}. Open only while it is
 * written. For one thread.
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

  /** Size in bytes. */
  long size() {
    return endsAt == 0 ? 0 : endsAt + END.length;
  }

  /** Traces written to it. */
  int traces() {
    return traces;
  }

  /**
   * Adds elements to the array; the first call replaces what the file held.
   *
   * @param elements separated by commas
   * @param count of traces in them
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
