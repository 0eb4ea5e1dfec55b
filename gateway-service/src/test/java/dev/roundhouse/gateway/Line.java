package dev.roundhouse.gateway;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.ServerReply;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Random;
import java.util.function.ToIntFunction;

/** One end of a connection of streams, which says and reads what a test wants. */
final class Line implements AutoCloseable {
  private final SocketChannel channel;

  Line(SocketChannel channel) {
    this.channel = channel;
  }

  static Line to(int port) throws IOException {
    return to(new InetSocketAddress("127.0.0.1", port));
  }

  static Line to(Path socket) throws IOException {
    SocketChannel made = SocketChannel.open(StandardProtocolFamily.UNIX);
    made.connect(UnixDomainSocketAddress.of(socket));
    return new Line(made);
  }

  private static Line to(SocketAddress address) throws IOException {
    SocketChannel made = SocketChannel.open();
    made.connect(address);
    return new Line(made);
  }

  Line send(byte[] bytes) throws IOException {
    ByteBuffer left = ByteBuffer.wrap(bytes);
    while (left.hasRemaining()) {
      channel.write(left);
    }
    return this;
  }

  /** In pieces of any size. */
  Line send(byte[] bytes, Random pieces, int most) throws IOException {
    for (int at = 0; at < bytes.length; ) {
      int length = Math.min(bytes.length - at, 1 + pieces.nextInt(most));
      ByteBuffer piece = ByteBuffer.wrap(bytes, at, length);
      while (piece.hasRemaining()) {
        channel.write(piece);
      }
      at += length;
    }
    return this;
  }

  byte[] read(int bytes) throws IOException {
    ByteBuffer to = ByteBuffer.allocate(bytes);
    while (to.hasRemaining()) {
      if (channel.read(to) < 0) {
        throw new EOFException("%d of %d bytes came".formatted(to.position(), bytes));
      }
    }
    return to.array();
  }

  /** True when the other end sends no more, and all of it has been read. */
  boolean isOver() throws IOException {
    return channel.read(ByteBuffer.allocate(1)) < 0;
  }

  Line halfClose() throws IOException {
    channel.shutdownOutput();
    return this;
  }

  /** Ends at once: the other end is sent a reset. */
  void abort() throws IOException {
    channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    channel.close();
  }

  ServerReply greet(ClientHello hello) throws IOException {
    return send(hello.encoded()).reply();
  }

  ServerReply reply() throws IOException {
    return ServerReply.read(whole(ServerReply.HEAD_BYTES, head -> length(head, true)));
  }

  ClientHello hello() throws IOException {
    return ClientHello.read(whole(ClientHello.HEAD_BYTES, head -> length(head, false)));
  }

  private static int length(ByteBuffer head, boolean isReply) {
    try {
      return isReply ? ServerReply.length(head) : ClientHello.length(head);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private ByteBuffer whole(int headBytes, ToIntFunction<ByteBuffer> length) throws IOException {
    byte[] head = read(headBytes);
    int all = length.applyAsInt(ByteBuffer.wrap(head));
    return ByteBuffer.allocate(all).put(head).put(read(all - headBytes)).flip();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
