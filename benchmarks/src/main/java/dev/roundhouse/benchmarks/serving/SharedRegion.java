package dev.roundhouse.benchmarks.serving;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * A POSIX shared-memory object of ours, which Linux has as a file in {@code /dev/shm}. Gone when
 * closed.
 *
 * @param name as {@code shm_open} takes it, without its slash
 * @param bytes all of it
 */
public record SharedRegion(String name, ByteBuffer bytes) implements AutoCloseable {
  private static final Path OBJECTS = Path.of("/dev/shm");

  public static SharedRegion create(int byteSize) throws IOException {
    String name = "bench-roundhouse-" + UUID.randomUUID();
    try (FileChannel file =
        FileChannel.open(
            OBJECTS.resolve(name),
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      return new SharedRegion(name, file.map(MapMode.READ_WRITE, 0, byteSize));
    }
  }

  @Override
  public void close() throws IOException {
    Files.deleteIfExists(OBJECTS.resolve(name));
  }
}
