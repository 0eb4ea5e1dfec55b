package dev.roundhouse.benchmarks.stream;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.kserve.tstream.RecordHeader;
import dev.roundhouse.kserve.tstream.ServerReply;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Objects;

/**
 * Messages of one tensor stream. Latencies are those of results in the order of the messages: exact
 * with one outstanding, and on average.
 */
final class StreamClient implements ThinClient {
  private final SocketChannel channel;
  private final MessagePump pump;
  private final ByteString wanted;

  private StreamClient(SocketChannel channel, FirstNumber model, int window) throws IOException {
    this.channel = channel;
    wanted = model.answer();
    write(ByteBuffer.wrap(ClientHello.of(model.name(), null, window).encoded()));
    ServerReply reply = reply();
    if (reply.status() != HelloStatus.OK || reply.window() < window) {
      throw new IOException("the worker's reply is " + reply);
    }
    pump =
        new MessagePump(
            channel,
            model.row().asReadOnlyByteBuffer(),
            RecordHeader.BYTES + Objects.requireNonNull(reply.spec()).responseBytes());
  }

  /** Connects over TCP or at a socket in the file system. */
  static StreamClient connect(SocketAddress address, FirstNumber model, int window)
      throws IOException {
    SocketChannel channel =
        address instanceof InetSocketAddress
            ? SocketChannel.open()
            : SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(address);
      if (address instanceof InetSocketAddress) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      }
      return new StreamClient(channel, model, window);
    } catch (IOException | RuntimeException failure) {
      channel.close();
      throw failure;
    }
  }

  private ServerReply reply() throws IOException {
    ByteBuffer head = filled(ServerReply.HEAD_BYTES);
    ByteBuffer whole = ByteBuffer.allocate(ServerReply.length(head));
    whole.put(head);
    while (whole.hasRemaining()) {
      readInto(whole);
    }
    try {
      return ServerReply.read(whole.flip());
    } catch (MalformedStreamException e) {
      throw new IOException(e);
    }
  }

  private ByteBuffer filled(int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      readInto(buffer);
    }
    return buffer.flip();
  }

  private void readInto(ByteBuffer buffer) throws IOException {
    if (channel.read(buffer) < 0) {
      throw new IOException("the worker has ended the connection");
    }
  }

  private void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    return pump.run(outstanding, duration, this::check);
  }

  private void check(ByteBuffer record) throws IOException {
    int status = record.get(record.position() + 4);
    int kind = record.get(record.position() + 5);
    if (status != 0 || kind != 0) {
      throw new IOException("a record of kind %d with status %d".formatted(kind, status));
    }
    for (int i = 0; i < wanted.size(); i++) {
      if (record.get(record.position() + RecordHeader.BYTES + i) != wanted.byteAt(i)) {
        throw new IOException("a result that is not the first number");
      }
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
