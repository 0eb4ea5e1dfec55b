package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.tstream.HelloReader;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.StreamPeer;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * One connection: its hello, which is refused or opens a stream. Belongs to its event loop; {@link
 * #drain} and {@link #relieve} may be called by any thread.
 */
final class StreamConnection extends ChannelInboundHandlerAdapter implements StreamPeer {
  private final StreamServer server;
  private final Channel channel;
  private final ConnectionMemory memory;
  private final HelloReader hello;
  private final @Nullable SslHandler tls;

  // The rest is the event loop's.

  private @Nullable ChannelHandlerContext own;
  private @Nullable OpenStream open;

  /** It was refused: what comes now is forgotten. */
  private boolean refused;

  /**
   * @param tls null for plain text
   */
  StreamConnection(
      StreamServer server, Channel channel, ConnectionMemory memory, @Nullable SslHandler tls) {
    this.server = server;
    this.channel = channel;
    this.memory = memory;
    this.tls = tls;
    hello = new HelloReader(channel, memory, server.settings().handshakeNanos(), this::onNoHello);
    channel.config().setRecvByteBufAllocator(new MessageReads(new ReceiveBuffers(), this::lend));
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    own = context;
    hello.begin();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf read = (ByteBuf) message;
    try {
      if (open == null && !refused) {
        readHello(read);
      }
      if (open != null) {
        open.read(read);
      }
    } finally {
      read.release();
    }
  }

  /** Where the next bytes from the socket had best be read to; null when any place is as good. */
  @Nullable ByteBuf lend() {
    OpenStream stream = open;
    // what is before this handler reads bytes of another kind
    return stream == null || channel.pipeline().firstContext() != own ? null : stream.lend();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (open != null) {
      open.onReadComplete();
    }
    channel.flush();
  }

  // --- the hello

  private void readHello(ByteBuf read) {
    try {
      ClientHello said = hello.read(read);
      if (said != null) {
        greet(said);
      }
    } catch (HelloRefusedException e) {
      refuse(e);
    }
  }

  private void greet(ClientHello said) throws HelloRefusedException {
    if (server.isDraining()) {
      throw new HelloRefusedException(HelloStatus.NOT_READY, StreamPort.EXITING);
    }
    Handshake.Agreed agreed = server.handshake().answer(said, channel.remoteAddress(), session());
    hello.close();
    open = new OpenStream(server, channel, memory, agreed);
    channel.write(Unpooled.wrappedBuffer(agreed.reply().encoded()));
  }

  private @Nullable SSLSession session() {
    return tls == null ? null : tls.engine().getSession();
  }

  /** There is no TLS yet by which anything could be told. */
  private boolean isUnsecured() {
    return tls != null && !tls.handshakeFuture().isSuccess();
  }

  private void refuse(HelloRefusedException why) {
    onRefused();
    server.refuse(channel, why);
  }

  /** Its client is told why it cannot send: nothing is waited for any more. */
  void onRefused() {
    refused = true;
    hello.close();
  }

  private void onNoHello(HelloRefusedException why) {
    if (open == null && !refused) {
      server.load().ended(End.HANDSHAKE);
      if (isUnsecured()) {
        channel.close();
        return;
      }
      refuse(why);
      channel.flush();
    }
  }

  EventLoop eventLoop() {
    return channel.eventLoop();
  }

  /** Where its messages are. On the event loop. */
  StreamStages stages() {
    return open == null ? StreamStages.NONE : open.stages();
  }

  // --- ends

  /** No further message is taken; what was is answered. Any thread. */
  @Override
  public void drain() {
    channel.eventLoop().execute(this::onDrain);
  }

  private void onDrain() {
    if (open != null) {
      open.drain();
    } else if (!refused && isUnsecured()) {
      channel.close();
    } else if (!refused && channel.isActive()) {
      refuse(new HelloRefusedException(HelloStatus.NOT_READY, StreamPort.EXITING));
    }
    channel.flush();
  }

  /** Memory is short. Any thread. */
  @Override
  public void relieve() {
    channel
        .eventLoop()
        .execute(
            () -> {
              if (open != null) {
                open.relieve();
              }
            });
  }

  /** The client sends no more. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    boolean isEnd =
        event instanceof ChannelInputShutdownEvent || event == SslCloseCompletionEvent.SUCCESS;
    if (!isEnd) {
      return;
    }
    if (open != null) {
      open.onInputEnd();
    } else if (!refused) {
      if (hello.hasBegun()) {
        server.load().ended(End.HANDSHAKE);
      }
      channel.close();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    if (open != null) {
      open.onWritabilityChanged();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (open != null) {
      open.onClosed();
    }
    refused = true;
    hello.close();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    server.onFailure(channel, cause);
  }
}
