package dev.roundhouse.worker;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.RecordHeader;
import dev.roundhouse.kserve.tstream.RecordKind;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.zip.CRC32C;

/** The other end of a tensor stream, which sends whatever a test wants. */
final class StreamPeer implements AutoCloseable {
  private final SocketChannel channel;
  private boolean hasChecksum;
  private StreamSpec spec = new StreamSpec(List.of(), List.of());

  /**
   * What a server has said.
   *
   * @param payload of a result, or of another record what follows its header
   */
  record Said(RecordHeader header, ByteBuffer payload) {
    RecordKind kind() {
      return header.kind();
    }

    int sequence() {
      return header.sequence();
    }

    int status() {
      return header.status();
    }

    /** Of a failure, or of the last word. */
    String text() {
      byte[] text = new byte[payload.remaining()];
      payload.duplicate().get(text);
      return new String(text, StandardCharsets.UTF_8);
    }

    float[] floats() {
      float[] floats = new float[payload.remaining() / Float.BYTES];
      payload.duplicate().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats);
      return floats;
    }
  }

  StreamPeer(int port) throws IOException {
    this(StandardProtocolFamily.INET, new InetSocketAddress("127.0.0.1", port));
  }

  StreamPeer(Path socket) throws IOException {
    this(StandardProtocolFamily.UNIX, UnixDomainSocketAddress.of(socket));
  }

  private StreamPeer(ProtocolFamily family, SocketAddress address) throws IOException {
    channel = SocketChannel.open(family);
    channel.connect(address);
  }

  StreamPeer send(byte[]... parts) throws IOException {
    for (byte[] part : parts) {
      ByteBuffer bytes = ByteBuffer.wrap(part);
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    }
    return this;
  }

  /** Sends no more. */
  StreamPeer halfClose() throws IOException {
    channel.shutdownOutput();
    return this;
  }

  /** Ends at once: the server is sent a reset. */
  void abort() throws IOException {
    channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    channel.close();
  }

  /** Says hello and reads the reply. */
  ServerReply greet(ClientHello hello) throws IOException {
    send(hello.encoded());
    return reply();
  }

  ServerReply reply() throws IOException {
    ByteBuffer head = read(ServerReply.HEAD_BYTES);
    int length = ServerReply.length(head);
    ByteBuffer whole = ByteBuffer.allocate(length).put(head);
    whole.put(read(length - ServerReply.HEAD_BYTES)).flip();
    ServerReply reply = ServerReply.read(whole);
    hasChecksum = reply.options().contains(StreamOption.CHECKSUM);
    spec = reply.spec() == null ? spec : Objects.requireNonNull(reply.spec());
    return reply;
  }

  /** The next record. */
  Said next() throws IOException {
    ByteBuffer head = read(RecordHeader.BYTES);
    RecordHeader header = RecordHeader.read(head.duplicate().order(ByteOrder.LITTLE_ENDIAN));
    boolean isText =
        header.kind() == RecordKind.CLOSED
            || (header.kind() == RecordKind.RESULT && header.status() != 0);
    if (isText) {
      int length = read(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).getInt();
      return new Said(header, read(length));
    }
    return switch (header.kind()) {
      case RESULT -> {
        ByteBuffer payload = read(spec.responseBytes());
        if (hasChecksum) {
          CRC32C checksum = new CRC32C();
          checksum.update(head.duplicate());
          checksum.update(payload.duplicate());
          int said = read(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).getInt();
          if (said != (int) checksum.getValue()) {
            throw new IOException("a result's checksum is wrong");
          }
        }
        yield new Said(header, payload);
      }
      case GENERATION -> new Said(header, read(2 * Long.BYTES));
      case WINDOW -> new Said(header, read(Integer.BYTES));
      case ACCEPTED, DRAINING, CLOSED -> new Said(header, ByteBuffer.allocate(0));
    };
  }

  /** The next result. */
  Said result() throws IOException {
    Said said = next();
    while (said.kind() == RecordKind.ACCEPTED) {
      said = next();
    }
    if (said.kind() != RecordKind.RESULT) {
      throw new IOException("%s instead of a result: %s".formatted(said.kind(), said.text()));
    }
    return said;
  }

  /** True when the server has ended the connection, and has nothing more to say. */
  boolean isOver() throws IOException {
    return channel.read(ByteBuffer.allocate(1)) < 0;
  }

  private ByteBuffer read(int bytes) throws IOException {
    ByteBuffer to = ByteBuffer.allocate(bytes);
    while (to.hasRemaining()) {
      if (channel.read(to) < 0) {
        throw new EOFException("%d of %d bytes came".formatted(to.position(), bytes));
      }
    }
    return to.flip();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  /** The bytes of a message of floats. */
  static byte[] floats(float... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }
}
