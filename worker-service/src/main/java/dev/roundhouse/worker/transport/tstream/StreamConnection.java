package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: its hello, which is refused or opens a stream. Belongs to its event loop; {@link
 * #drain} and {@link #relieve} may be called by any thread.
 */
final class StreamConnection extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(StreamConnection.class);

  private final StreamServer server;
  private final Channel channel;
  private final ConnectionMemory memory;
  private final @Nullable SslHandler tls;

  // The rest is the event loop's.

  private @Nullable ByteBuf hello;
  private @Nullable Future<?> helloTimer;
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
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    helloTimer =
        channel
            .eventLoop()
            .schedule(this::onNoHello, server.settings().handshakeNanos(), TimeUnit.NANOSECONDS);
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

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (open != null) {
      open.onReadComplete();
    }
    channel.flush();
  }

  // --- the hello

  private void readHello(ByteBuf read) {
    ByteBuf all = hello == null ? channel.alloc().buffer(ClientHello.HEAD_BYTES * 4) : hello;
    hello = all;
    all.writeBytes(read, Math.min(read.readableBytes(), missing(all, ClientHello.HEAD_BYTES)));
    try {
      if (!ClientHello.mayBegin(all.nioBuffer())) {
        throw new HelloRefusedException(
            HelloStatus.BAD_HELLO,
            "what came does not begin with 'TSRM'; this port speaks TSTREAM and nothing else");
      }
      if (all.readableBytes() < ClientHello.HEAD_BYTES) {
        return;
      }
      int length = ClientHello.length(all.nioBuffer());
      all.writeBytes(read, Math.min(read.readableBytes(), missing(all, length)));
      if (all.readableBytes() == length) {
        greet(ClientHello.read(all.nioBuffer()));
      }
    } catch (MalformedStreamException e) {
      refuse(new HelloRefusedException(HelloStatus.BAD_HELLO, String.valueOf(e.getMessage())));
    } catch (HelloRefusedException e) {
      refuse(e);
    }
  }

  private static int missing(ByteBuf begun, int length) {
    return Math.max(0, length - begun.readableBytes());
  }

  private void greet(ClientHello said) throws HelloRefusedException {
    if (server.isDraining()) {
      throw new HelloRefusedException(HelloStatus.NOT_READY, StreamServer.EXITING);
    }
    Handshake.Agreed agreed = server.handshake().answer(said, channel.remoteAddress(), session());
    forgetHello();
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

  private void forgetHello() {
    if (helloTimer != null) {
      helloTimer.cancel(false);
    }
    if (hello != null) {
      hello.release();
      hello = null;
    }
  }

  private void refuse(HelloRefusedException why) {
    server.load().refused(why.status());
    String text = server.texts().of(String.valueOf(why.getMessage()));
    ServerReply reply = why.reply(text);
    log.debug("a stream of {} is refused: {}", channel.remoteAddress(), text);
    refused = true;
    forgetHello();
    StreamServer.endAfter(channel, channel.write(Unpooled.wrappedBuffer(reply.encoded())));
  }

  private void onNoHello() {
    if (open == null && !refused) {
      server.load().ended(End.HANDSHAKE);
      if (isUnsecured()) {
        channel.close();
        return;
      }
      refuse(
          new HelloRefusedException(
              HelloStatus.BAD_HELLO,
              "no whole hello has come within %d ms"
                  .formatted(TimeUnit.NANOSECONDS.toMillis(server.settings().handshakeNanos()))));
      channel.flush();
    }
  }

  // --- ends

  /** No further message is taken; what was is answered. Any thread. */
  void drain() {
    channel.eventLoop().execute(this::onDrain);
  }

  private void onDrain() {
    if (open != null) {
      open.drain();
    } else if (isUnsecured()) {
      channel.close();
    } else if (!refused && channel.isActive()) {
      refuse(new HelloRefusedException(HelloStatus.NOT_READY, StreamServer.EXITING));
    }
    channel.flush();
  }

  /** Memory is short. Any thread. */
  void relieve() {
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
      if (hello != null && hello.isReadable()) {
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
    forgetHello();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    server.onFailure(channel, cause);
  }
}
