package dev.roundhouse.gateway.stream;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.transport.forward.SpliceSockets;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.util.concurrent.Future;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Says a client's hello to one worker, and waits for its reply. For the client's event loop, which
 * the worker's connection belongs to.
 */
final class WorkerHello extends ChannelInboundHandlerAdapter {
  private final SpliceSockets sockets;
  private final Duration patience;
  private final SocketAddress worker;
  private final String name;
  private final byte[] hello;
  private final Outcome outcome;
  private @Nullable Channel channel;
  private @Nullable ByteBuf reply;
  private @Nullable Future<?> timer;
  private boolean isOver;

  /** What becomes of it: one of these, once, unless it is taken back. */
  interface Outcome {

    /**
     * The worker has taken the stream.
     *
     * @param said its reply and what came behind it; taken
     */
    void taken(Channel worker, ByteBuf said);

    /**
     * The worker has refused.
     *
     * @param said its reply as it came; taken
     */
    void refused(ServerReply reply, ByteBuf said);

    /** There is no reply. */
    void failed(Status why);
  }

  /**
   * @param patience for a reply
   * @param name of the worker
   */
  WorkerHello(
      SpliceSockets sockets,
      Duration patience,
      String name,
      SocketAddress worker,
      byte[] hello,
      Outcome outcome) {
    this.sockets = sockets;
    this.patience = patience;
    this.name = "worker '" + name + "'";
    this.worker = worker;
    this.hello = hello;
    this.outcome = outcome;
  }

  void begin(EventLoop loop) {
    channel =
        sockets.connect(loop, worker, this, why -> fail(ReplyStatus.unreachable(name, why(why))));
  }

  /** Without the path of a socket, which is not the client's to know. */
  private String why(Throwable cause) {
    String text = String.valueOf(cause.getMessage());
    return worker instanceof DomainSocketAddress local
        ? text.replace(local.path(), "its socket")
        : text;
  }

  /** The reply is not wanted any more. */
  void takeBack() {
    end();
    if (channel != null && channel.isOpen()) { // another may have no event loop to close it on
      channel.close();
    }
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    if (isOver) {
      context.close();
      return;
    }
    timer =
        context
            .executor()
            .schedule(
                () ->
                    fail(
                        ReplyStatus.lost(
                            "%s has not replied to a hello within %d ms"
                                .formatted(name, patience.toMillis()))),
                patience.toNanos(),
                TimeUnit.NANOSECONDS);
    context.writeAndFlush(Unpooled.wrappedBuffer(hello));
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf read = (ByteBuf) message;
    if (isOver) {
      read.release();
      return;
    }
    if (reply == null) {
      reply = read;
    } else {
      reply.writeBytes(read);
      read.release();
    }
    look(context, reply);
  }

  private void look(ChannelHandlerContext context, ByteBuf begun) {
    if (begun.readableBytes() < ServerReply.HEAD_BYTES) {
      return;
    }
    try {
      int length = ServerReply.length(begun.nioBuffer());
      if (begun.readableBytes() < length) {
        return;
      }
      ServerReply said = ServerReply.read(begun.nioBuffer());
      reply = null; // the outcome's
      end();
      if (said.status() == HelloStatus.OK) {
        context.pipeline().remove(this);
        outcome.taken(context.channel(), begun);
      } else {
        context.close();
        outcome.refused(said, begun.writerIndex(begun.readerIndex() + length));
      }
    } catch (MalformedStreamException e) {
      fail(
          ReplyStatus.lost(
              "what %s has replied is not TSTREAM: %s".formatted(name, e.getMessage())));
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      fail(ReplyStatus.lost(name + " has closed the connection"));
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    fail(ReplyStatus.lost(name + " has closed the connection"));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    fail(ReplyStatus.lost("%s is lost: %s".formatted(name, cause.getMessage())));
  }

  private void fail(Status why) {
    if (!isOver) {
      takeBack();
      outcome.failed(why);
    }
  }

  private void end() {
    isOver = true;
    if (timer != null) {
      timer.cancel(false);
    }
    if (reply != null) {
      reply.release();
      reply = null;
    }
  }
}
