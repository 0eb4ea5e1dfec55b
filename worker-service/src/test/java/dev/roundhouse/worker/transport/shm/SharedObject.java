package dev.roundhouse.worker.transport.shm;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/** A POSIX shared-memory object that a client has made. Removed when it is closed. */
public final class SharedObject implements AutoCloseable {
  private final Path path = Path.of("/dev/shm", "test-" + UUID.randomUUID());
  private final FileChannel channel;

  public SharedObject(int byteSize) throws IOException {
    channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
    channel.write(ByteBuffer.allocate(byteSize), 0);
  }

  /** As clients write it. */
  public String key() {
    return "/" + path.getFileName();
  }

  public void put(long at, float... values) throws IOException {
    ByteBuffer bytes = buffer(values.length);
    bytes.asFloatBuffer().put(values);
    channel.write(bytes, at);
  }

  public void put(long at, byte[] bytes) throws IOException {
    channel.write(ByteBuffer.wrap(bytes), at);
  }

  public byte[] bytes(long at, int count) throws IOException {
    byte[] bytes = new byte[count];
    channel.read(ByteBuffer.wrap(bytes), at);
    return bytes;
  }

  public float[] get(long at, int count) throws IOException {
    ByteBuffer bytes = buffer(count);
    channel.read(bytes, at);
    float[] values = new float[count];
    bytes.flip().asFloatBuffer().get(values);
    return values;
  }

  /** Without taking memory for what is new. */
  public void grow(long byteSize) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.setLength(byteSize);
    }
  }

  public void truncate(int byteSize) throws IOException {
    channel.truncate(byteSize);
  }

  private static ByteBuffer buffer(int floats) {
    return ByteBuffer.allocate(Float.BYTES * floats).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public void close() throws IOException {
    channel.close();
    Files.delete(path);
  }
}
