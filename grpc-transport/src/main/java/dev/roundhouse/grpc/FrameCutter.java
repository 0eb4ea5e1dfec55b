package dev.roundhouse.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Passes whole HTTP/2 frames on. Netty's decoder would put incomplete input together by copying all
 * of it; here only a frame that two reads share is copied, and the buffer that was read into is
 * free for the next read. For one event loop.
 */
final class FrameCutter extends ChannelInboundHandlerAdapter {
  /** What a client sends before its first frame. */
  private static final int PREFACE_BYTES = 24;

  private static final int HEADER_BYTES = 9;

  /** Of a frame's payload, as long as we allow no more. */
  private static final int MAX_PAYLOAD_BYTES = 1 << 14;

  /** What the beginning of a frame gets at least. */
  private static final int LEAST_BYTES = 64;

  /** It gets as many times what has come, so that whoever sends little holds little. */
  private static final int GROWTH = 4;

  private static final int HEADERS = 1;
  private static final int CONTINUATION = 9;
  private static final int END_HEADERS = 4;

  private boolean started;

  /** Of frames that a client sends, after its preface. */
  FrameCutter() {}

  /** Of frames that a server sends. */
  static FrameCutter ofServer() {
    FrameCutter cutter = new FrameCutter();
    cutter.started = true;
    return cutter;
  }

  /** Frames follow that are larger than allowed: the decoder may say so. */
  private boolean lost;

  /** The beginning of what is incomplete. */
  private @Nullable ByteBuf part;

  /** Headers have begun that go on in further frames. */
  private boolean withinHeaders;

  /** How often a frame has ended, and with it what it is part of. */
  private long ends;

  /** True when a frame has begun to arrive, or headers of several, and is not complete. */
  boolean isWithin() {
    return part != null || withinHeaders;
  }

  /** Changes whenever something is complete. */
  long ends() {
    return ends;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    ByteBuf in = (ByteBuf) message;
    if (lost) {
      ctx.fireChannelRead(in);
      return;
    }
    if (part != null && !completePart(ctx, part, in)) {
      in.release();
      return;
    }
    int end = wholeEnd(in);
    if (end == in.writerIndex() || lost) {
      pass(ctx, in);
      return;
    }
    int have = in.writerIndex() - end;
    ByteBuf rest = ctx.alloc().directBuffer(room(have));
    part = rest;
    rest.writeBytes(in, end, have);
    in.writerIndex(end);
    pass(ctx, in);
  }

  private static void pass(ChannelHandlerContext ctx, ByteBuf in) {
    if (in.isReadable()) {
      ctx.fireChannelRead(in);
    } else {
      in.release();
    }
  }

  /** Moves what is missing from the input; true when the part was completed and passed on. */
  private boolean completePart(ChannelHandlerContext ctx, ByteBuf begun, ByteBuf in) {
    for (int missing = missing(begun); missing > 0; missing = missing(begun)) {
      if (!in.isReadable()) {
        return false;
      }
      int more = Math.min(missing, in.readableBytes());
      if (begun.writableBytes() < more) {
        begun.capacity(room(begun.readableBytes() + more));
      }
      begun.writeBytes(in, more);
    }
    if (started && !lost) {
      ended(begun, begun.readerIndex());
    }
    started = true;
    part = null;
    ctx.fireChannelRead(begun);
    return true;
  }

  private static int room(int have) {
    return Math.clamp((long) GROWTH * have, LEAST_BYTES, HEADER_BYTES + MAX_PAYLOAD_BYTES);
  }

  /** A frame is complete. */
  private void ended(ByteBuf in, int frame) {
    int type = in.getByte(frame + 3);
    int flags = in.getByte(frame + 4);
    withinHeaders = (type == HEADERS || type == CONTINUATION) && (flags & END_HEADERS) == 0;
    if (!withinHeaders) {
      ends++;
    }
  }

  private int missing(ByteBuf begun) {
    int have = begun.readableBytes();
    if (!started) {
      return PREFACE_BYTES - have;
    }
    if (have < HEADER_BYTES) {
      return HEADER_BYTES - have;
    }
    int payload = begun.getUnsignedMedium(begun.readerIndex());
    if (payload > MAX_PAYLOAD_BYTES) {
      lost = true;
      return 0;
    }
    return HEADER_BYTES + payload - have;
  }

  /** Where the last whole frame ends. */
  private int wholeEnd(ByteBuf in) {
    int at = in.readerIndex();
    int end = in.writerIndex();
    if (!started) {
      if (end - at < PREFACE_BYTES) {
        return at;
      }
      at += PREFACE_BYTES;
      started = true;
    }
    int last = -1;
    while (end - at >= HEADER_BYTES) {
      int payload = in.getUnsignedMedium(at);
      if (payload > MAX_PAYLOAD_BYTES) {
        lost = true;
        return at;
      }
      if (end - at - HEADER_BYTES < payload) {
        break;
      }
      last = at;
      at += HEADER_BYTES + payload;
    }
    if (last >= 0) {
      ended(in, last);
    }
    return at;
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    releasePart();
    ctx.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    releasePart();
  }

  private void releasePart() {
    if (part != null) {
      part.release();
      part = null;
    }
  }
}
