package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.PartSizes;
import dev.roundhouse.transport.io.StallWatch;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Passes bytes between a client and a server, both ways, without looking at them or copying them.
 * One side is read only while the other takes what it is sent; an end of either is passed on, and
 * so is a reset. Both connections allow half-closure and belong to one event loop, whose this is.
 */
public final class Splice {
  /** Flushed at once, so that whether a side takes more is known before more is read. */
  private static final int FLUSH_BYTES = PartSizes.READ_BYTES / 2;

  /** Looks at a client that does not read, in the time that it has. */
  private static final int LOOKS = 4;

  private final Side client;
  private final Side server;
  private final ConnectionMemory memory;
  private final Times times;
  private final Listener listener;
  private final StallWatch reading = new StallWatch();
  private @Nullable Future<?> linger;
  private @Nullable Future<?> look;
  private long sentToClient;
  private boolean over;

  /**
   * How long a client may take.
   *
   * @param lingerNanos to close its side once the server has ended
   * @param unreadNanos to read the rest of what waits for it, or so much as a {@link StallWatch}
   *     asks for
   */
  public record Times(long lingerNanos, long unreadNanos) {}

  /** How it ended. */
  public enum End {
    /** The server has said all that it had to say. */
    COMPLETE,
    /** The client's connection was reset or lost. */
    CLIENT_LOST,
    /** The server's connection was reset or lost. */
    SERVER_LOST,
    /** The client did not read what waited for it. */
    UNREAD,
    /** One side did not take what it was sent, and others needed the memory. */
    RELIEVED,
    /** Something is wrong here. */
    FAILED
  }

  /** Told on the event loop. */
  public interface Listener {
    /** So many bytes have come from the client, or from the server. */
    void passed(boolean fromClient, int bytes);

    /** Both connections are closed, or about to be. Called once. */
    void ended(End how, @Nullable Throwable why);
  }

  /**
   * @param memory of the client, which what piles up is counted for
   */
  public Splice(
      Channel client, Channel server, ConnectionMemory memory, Times times, Listener listener) {
    this.client = new Side(client, Kept.ANSWER, End.CLIENT_LOST);
    this.server = new Side(server, Kept.MESSAGE, End.SERVER_LOST);
    this.memory = memory;
    this.times = times;
    this.listener = listener;
    this.client.other = this.server;
    this.server.other = this.client;
  }

  /**
   * Begins, by what becomes the last handler of both. Their other handlers must pass on what is
   * read.
   *
   * @param fromClient what it has sent already, with {@code fromServer} sent on first; both are
   *     taken
   */
  public void begin(ByteBuf fromClient, ByteBuf fromServer) {
    try {
      client.join();
      server.join();
    } catch (Throwable e) { // an Error too: both sides would wait for ever
      fromClient.release();
      fromServer.release();
      end(End.FAILED, e);
      return;
    }
    client.passEarly(fromClient);
    server.passEarly(fromServer);
    client.start();
    server.start();
  }

  /** Ends it if one side does not take what it is sent. */
  public void relieve() {
    if (client.heldUp || server.heldUp) {
      end(End.RELIEVED, null);
    }
  }

  private void end(End how, @Nullable Throwable why) {
    if (over) {
      return;
    }
    over = true;
    if (linger != null) {
      linger.cancel(false);
    }
    if (look != null) {
      look.cancel(false);
    }
    boolean isOrderly = how == End.COMPLETE;
    try {
      listener.ended(how, why);
    } finally {
      client.close(isOrderly);
      server.close(isOrderly);
    }
  }

  private void inputEnded() {
    if (client.outputEnded && server.outputEnded) {
      end(End.COMPLETE, null);
    } else if (client.outputEnded && linger == null) {
      linger =
          client
              .channel
              .eventLoop()
              .schedule(() -> end(End.COMPLETE, null), times.lingerNanos(), TimeUnit.NANOSECONDS);
    }
  }

  /** Whether something waits for the client to read. */
  private boolean isClientAwaited() {
    return client.heldUp || (server.inputEnded && !client.outputEnded);
  }

  private void lookLater() {
    if (look == null && !over) {
      look =
          client
              .channel
              .eventLoop()
              .schedule(this::look, times.unreadNanos() / LOOKS, TimeUnit.NANOSECONDS);
    }
  }

  private void look() {
    look = null;
    if (!isClientAwaited()) {
      reading.rest();
    } else if (reading.hasStalled(
        0, sentToClient - client.pendingBytes(), System.nanoTime(), times.unreadNanos())) {
      end(End.UNREAD, null);
    } else {
      lookLater();
    }
  }

  /** One of the two connections. */
  private final class Side extends ChannelInboundHandlerAdapter {
    private final Channel channel;
    private final Kept kept;
    private final End lost;
    private @Nullable Side other;

    /** Bytes that wait to be sent here since the last flush. */
    private int unflushed;

    /** It does not take what it is sent. */
    private boolean heldUp;

    /** The other side has ended, and this one's peer is told. */
    private boolean outputEnded;

    private boolean inputEnded;

    Side(Channel channel, Kept kept, End lost) {
      this.channel = channel;
      this.kept = kept;
      this.lost = lost;
    }

    private Side other() {
      if (other == null) {
        throw new IllegalStateException("a side without another");
      }
      return other;
    }

    void join() {
      channel.config().setWriteBufferWaterMark(PartSizes.WRITE_MARKS);
      channel.pipeline().addLast(this);
    }

    void passEarly(ByteBuf early) {
      if (!over && early.isReadable()) {
        pass(early);
      } else {
        early.release();
      }
    }

    void start() {
      if (over) {
        return;
      }
      flush();
      if (!channel.isActive()) {
        end(lost, null);
      } else if (((DuplexChannel) channel).isInputShutdown()) {
        endInput();
      } else {
        channel.config().setAutoRead(!other().heldUp);
      }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (over) {
        ((ByteBuf) message).release();
      } else {
        pass((ByteBuf) message);
      }
    }

    private void pass(ByteBuf bytes) {
      int count = bytes.readableBytes();
      Side to = other();
      to.channel.write(bytes, to.channel.voidPromise());
      if (this == server) {
        sentToClient += count;
      }
      listener.passed(this == client, count);
      to.unflushed += count;
      if (to.unflushed >= FLUSH_BYTES) {
        to.flush();
      }
    }

    private void flush() {
      unflushed = 0;
      channel.flush();
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      if (!over && other().unflushed > 0) {
        other().flush();
      }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
      boolean now = !over && !channel.isWritable();
      if (now == heldUp) {
        return;
      }
      heldUp = now;
      if (now) {
        memory.add(kept, PartSizes.HELD_UP_BYTES);
        lookLater();
      } else {
        memory.giveBack(kept, PartSizes.HELD_UP_BYTES);
      }
      if (!over) {
        other().channel.config().setAutoRead(!now);
      }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof ChannelInputShutdownEvent) {
        endInput();
      }
    }

    /** Its peer sends no more: the other one is told once it has been sent everything. */
    private void endInput() {
      if (inputEnded || over) {
        return;
      }
      inputEnded = true;
      lookLater();
      Side to = other();
      to.channel
          .writeAndFlush(Unpooled.EMPTY_BUFFER)
          .addListener(
              sent -> {
                if (!over && sent.isSuccess()) {
                  ((DuplexChannel) to.channel).shutdownOutput();
                  to.outputEnded = true;
                  inputEnded();
                }
              });
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      end(lost, null);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      end(cause instanceof IOException ? lost : End.FAILED, cause);
    }

    /** Written, and not taken by the system. */
    long pendingBytes() {
      ChannelOutboundBuffer waiting = channel.unsafe().outboundBuffer();
      return waiting == null ? 0 : waiting.totalPendingWriteBytes();
    }

    void close(boolean isOrderly) {
      if (heldUp) {
        heldUp = false;
        memory.giveBack(kept, PartSizes.HELD_UP_BYTES);
      }
      if (!isOrderly
          && channel.isOpen()
          && channel.config().getOptions().containsKey(ChannelOption.SO_LINGER)) {
        channel.config().setOption(ChannelOption.SO_LINGER, 0); // so that its peer gets a reset
      }
      channel.close();
    }
  }
}
