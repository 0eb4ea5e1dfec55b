package dev.roundhouse.worker;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A learner at the tee, which says whatever a test wants. */
final class LearnerPeer implements AutoCloseable {
  private final SocketChannel channel;
  private int batchBytes;

  /** The worker's answer to a hello. */
  record Reply(int status, int window, long generation, long digest, String text) {}

  /**
   * What a worker has sent.
   *
   * @param kind 0 a batch, 1 replaced, 2 the end
   * @param number of a batch; of what has replaced, its generation
   */
  record Frame(int kind, long number, long firstRow, long dropped, String text, ByteBuffer batch) {
    float[] floats(int offset, int count) {
      float[] floats = new float[count];
      batch
          .slice(offset, count * Float.BYTES)
          .order(ByteOrder.LITTLE_ENDIAN)
          .asFloatBuffer()
          .get(floats);
      return floats;
    }
  }

  LearnerPeer(int port) throws IOException {
    this(StandardProtocolFamily.INET, new InetSocketAddress("127.0.0.1", port));
  }

  LearnerPeer(Path socket) throws IOException {
    this(StandardProtocolFamily.UNIX, UnixDomainSocketAddress.of(socket));
  }

  private LearnerPeer(ProtocolFamily family, SocketAddress address) throws IOException {
    channel = SocketChannel.open(family);
    channel.connect(address);
  }

  static byte[] hello(String model, String token, long digest) {
    byte[] name = model.getBytes(StandardCharsets.UTF_8);
    byte[] shown = token.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(16 + name.length + shown.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put("TEE1".getBytes(StandardCharsets.US_ASCII))
        .putShort((short) name.length)
        .putShort((short) shown.length)
        .putLong(digest)
        .put(name)
        .put(shown)
        .array();
  }

  LearnerPeer send(byte[] bytes) throws IOException {
    ByteBuffer left = ByteBuffer.wrap(bytes);
    while (left.hasRemaining()) {
      channel.write(left);
    }
    return this;
  }

  Reply greet(String model) throws IOException {
    return send(hello(model, "", 0)).reply();
  }

  Reply reply() throws IOException {
    ByteBuffer head = read(48);
    int length = head.getInt(8);
    int textBytes = head.getInt(44);
    ByteBuffer rest = read(length - 48);
    batchBytes = (int) head.getLong(16);
    byte[] text = new byte[textBytes];
    rest.get(rest.limit() - textBytes, text);
    return new Reply(
        head.get(4),
        head.getInt(12),
        head.getLong(24),
        head.getLong(32),
        new String(text, StandardCharsets.UTF_8));
  }

  Frame next() throws IOException {
    ByteBuffer head = read(32);
    int kind = head.getInt(0);
    byte[] text = new byte[head.getInt(4)];
    read(text.length).get(text);
    return new Frame(
        kind,
        head.getLong(8),
        head.getLong(16),
        head.getLong(24),
        new String(text, StandardCharsets.UTF_8),
        read(kind == 0 ? batchBytes : 0));
  }

  LearnerPeer acknowledge(long number) throws IOException {
    return send(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array());
  }

  LearnerPeer halfClose() throws IOException {
    channel.shutdownOutput();
    return this;
  }

  /** True when the worker has ended the connection, and has nothing more to say. */
  boolean isOver() throws IOException {
    return channel.read(ByteBuffer.allocate(1)) < 0;
  }

  private ByteBuffer read(int bytes) throws IOException {
    ByteBuffer to = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (to.hasRemaining()) {
      if (channel.read(to) < 0) {
        throw new EOFException("%d of %d bytes came".formatted(to.position(), bytes));
      }
    }
    return to.flip().order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
