package dev.roundhouse.transport.http2;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.io.StagedClose;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for the HTTP/2 client preface before anything is sent: a client that begins with HTTP/1,
 * TLS or a PROXY line is told in HTTP/1.1 what port this is, and would not understand anything
 * else. For one event loop.
 */
final class Preface extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(Preface.class);
  private static final byte[] EXPECTED = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII);

  /** Beginnings of other protocols whose client, or its operator, can read the answer. */
  private static final List<byte[]> OTHERS =
      Stream.of(
              "GET ",
              "HEAD ",
              "POST ",
              "PUT ",
              "PATCH ",
              "DELETE ",
              "OPTIONS ",
              "TRACE ",
              "CONNECT ",
              "PRI ",
              "PROXY ",
              "\r\n\r\n\0\r\nQUIT\n",
              "\u0016\u0003")
          .map(begin -> begin.getBytes(US_ASCII))
          .toList();

  private static final String TEXT =
      "this is the gRPC port, which speaks HTTP/2 from the first byte on; HTTP/1.1 and metrics are on other ports\n";
  private static final byte[] ANSWER =
      ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
              + TEXT.length()
              + "\r\n\r\n"
              + TEXT)
          .getBytes(US_ASCII);

  /** Bytes discarded from a client that has not read our answer. */
  private static final long FORGOTTEN_BYTES = 1 << 16;

  private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Runnable begins;
  private final LoadListener load;
  private final long mostNanos;
  private @Nullable Future<?> alarm;

  /** What has arrived of it. */
  private @Nullable ByteBuf part;

  private boolean refused;

  /**
   * @param begins adds the HTTP/2 handlers behind this
   * @param load told of clients that speak another protocol
   * @param mostNanos that it may take
   */
  Preface(Runnable begins, LoadListener load, long mostNanos) {
    this.begins = begins;
    this.load = load;
    this.mostNanos = mostNanos;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    alarm = ctx.executor().schedule(() -> ctx.close(), mostNanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    ByteBuf data = (ByteBuf) message;
    int before = part == null ? 0 : part.readableBytes();
    int count = Math.min(data.readableBytes(), EXPECTED.length - before);
    if (refused) {
      data.release();
    } else if (!begins(EXPECTED, before, data, count)) {
      refuse(ctx, data);
    } else if (before + count < EXPECTED.length) {
      part = part == null ? ctx.alloc().buffer(EXPECTED.length, EXPECTED.length) : part;
      part.writeBytes(data);
      data.release();
    } else {
      begin(ctx, data);
    }
  }

  private void begin(ChannelHandlerContext ctx, ByteBuf data) {
    begins.run();
    ByteBuf came = part;
    part = null;
    if (came != null) {
      ctx.fireChannelRead(came);
    }
    ctx.fireChannelRead(data);
    ctx.pipeline().remove(this);
  }

  /** True when the bytes from this offset are next. */
  private static boolean begins(byte[] with, int offset, ByteBuf data, int count) {
    return Unpooled.wrappedBuffer(with, offset, count)
        .equals(data.slice(data.readerIndex(), count));
  }

  private void refuse(ChannelHandlerContext ctx, ByteBuf data) {
    refused = true;
    ByteBuf come =
        part == null
            ? data
            : Unpooled.wrappedBuffer(part.retainedDuplicate(), data); // data is now a part of it
    boolean known =
        OTHERS.stream()
            .anyMatch(
                other -> begins(other, 0, come, Math.min(other.length, come.readableBytes())));
    come.release();
    if (known) {
      tell(ctx, load);
    } else {
      log.debug("{} does not speak HTTP/2", ctx.channel().remoteAddress());
      load.otherProtocol();
      ctx.close();
    }
  }

  /** Tells a client that does not speak HTTP/2 what port this is, and closes its connection. */
  static void tell(ChannelHandlerContext ctx, LoadListener load) {
    log.debug("{} does not speak HTTP/2", ctx.channel().remoteAddress());
    load.otherProtocol();
    ctx.writeAndFlush(Unpooled.wrappedBuffer(ANSWER))
        .addListener(told -> StagedClose.begin(ctx.channel(), FORGOTTEN_BYTES, FORGOTTEN_NANOS));
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    if (alarm != null) {
      alarm.cancel(false);
    }
    if (part != null) {
      part.release();
      part = null;
    }
  }

  /** For example when it hangs up. */
  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    log.debug("connection of {} failed", ctx.channel().remoteAddress(), cause);
    ctx.close();
  }
}
