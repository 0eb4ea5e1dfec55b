package dev.roundhouse.client.stream;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * A connection in plain text that waits no longer than it should, as a blocking channel cannot. For
 * one thread.
 */
final class PlainChannel implements ByteChannel {
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final int mostMillis;

  private PlainChannel(SocketChannel channel, int mostMillis) throws IOException {
    this.channel = channel;
    this.mostMillis = mostMillis;
    channel.configureBlocking(false);
    selector = Selector.open();
    key = channel.register(selector, 0);
  }

  /**
   * Connects; by a blocking channel, which takes fewer calls of the system, where there is no
   * limit.
   *
   * @param mostMillis for connecting, and for each wait; 0 for no limit
   */
  static ByteChannel connect(SocketAddress address, int mostMillis) throws IOException {
    SocketChannel channel =
        address instanceof UnixDomainSocketAddress
            ? SocketChannel.open(StandardProtocolFamily.UNIX)
            : SocketChannel.open();
    try {
      if (address instanceof InetSocketAddress && mostMillis > 0) {
        channel.socket().connect(address, mostMillis);
      } else {
        channel.connect(address);
      }
      if (address instanceof InetSocketAddress) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      }
      return mostMillis > 0 ? new PlainChannel(channel, mostMillis) : channel;
    } catch (Throwable e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer to) throws IOException {
    int count = channel.read(to);
    if (count == 0 && to.hasRemaining()) {
      await(SelectionKey.OP_READ);
      count = channel.read(to);
    }
    return count;
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    int count = channel.write(from);
    if (count == 0 && from.hasRemaining()) {
      await(SelectionKey.OP_WRITE);
      count = channel.write(from);
    }
    return count;
  }

  private void await(int operation) throws IOException {
    key.interestOps(operation);
    selector.selectedKeys().clear();
    if (selector.select(mostMillis) == 0) {
      close();
      if (Thread.currentThread().isInterrupted()) {
        throw new ClosedByInterruptException(); // as a blocking channel does
      }
      throw new SocketTimeoutException(
          "the server has neither sent nor taken anything for %d ms".formatted(mostMillis));
    }
  }

  @Override
  public boolean isOpen() {
    return channel.isOpen();
  }

  @Override
  public void close() throws IOException {
    try (selector) {
      channel.close();
    }
  }
}
