package dev.roundhouse.benchmarks.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** A connection's socket and its two buffers. The thread sleeps until there is something to do. */
final class Wire {
  private final SocketChannel channel;
  private final SelectionKey key;

  /** What has been received, from its position on. */
  final ByteBuffer in;

  /** Connects to a port of this machine; {@code selector} wakes up for it. */
  Wire(int port, Selector selector, int bufferBytes) throws IOException {
    channel =
        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
            .setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.configureBlocking(false);
    key = channel.register(selector, SelectionKey.OP_READ);
    in = ByteBuffer.allocateDirect(bufferBytes).limit(0);
  }

  /** Whoever is told that the socket is ready. */
  void attach(Object owner) {
    key.attach(owner);
  }

  /** Writes what the socket takes, and asks to be woken up for the rest. */
  void write(ByteBuffer bytes) throws IOException {
    if (bytes.hasRemaining()) {
      channel.write(bytes);
    }
    key.interestOps(
        bytes.hasRemaining() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
  }

  /** Adds what has come to {@link #in}. */
  void read() throws IOException {
    in.compact();
    int count = channel.read(in);
    in.flip();
    if (count < 0) {
      throw new IOException("the server closed the connection");
    }
  }

  void close() throws IOException {
    channel.close();
  }
}
