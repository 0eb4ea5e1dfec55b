package dev.roundhouse.benchmarks.stream;

import dev.roundhouse.kserve.tstream.ClientHello;
import java.io.Closeable;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** Sends all of a message but its last byte, and no more. */
final class StuckSender implements Closeable {
  private static final int WINDOW = 32;

  private final SocketChannel channel;

  private StuckSender(SocketChannel channel) {
    this.channel = channel;
  }

  static StuckSender connect(SocketAddress address, FirstNumber model) throws IOException {
    SocketChannel channel = SocketChannel.open(address);
    try {
      ByteBuffer hello = ByteBuffer.wrap(ClientHello.of(model.name(), null, WINDOW).encoded());
      ByteBuffer most = model.row().asReadOnlyByteBuffer();
      most.limit(most.limit() - 1);
      for (ByteBuffer part : new ByteBuffer[] {hello, most}) {
        while (part.hasRemaining()) {
          channel.write(part);
        }
      }
      return new StuckSender(channel);
    } catch (IOException | RuntimeException failure) {
      channel.close();
      throw failure;
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
