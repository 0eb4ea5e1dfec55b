package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.ReceiveBuffers;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Passes on whole HTTP/2 frames. Netty's decoder would reassemble incomplete input by copying all
 * of it. Here a data frame split over two reads becomes two frames, and only other frames are
 * copied; the read buffer is free for the next read. For one event loop.
 */
public final class FrameCutter extends ChannelInboundHandlerAdapter {
  /** What a client sends before its first frame. */
  private static final int PREFACE_BYTES = 24;

  private static final int HEADER_BYTES = 9;

  /** Largest payload of a frame that we allow. */
  private static final int MAX_PAYLOAD_BYTES = 1 << 14;

  /** Smallest buffer for the beginning of a frame. */
  private static final int LEAST_BYTES = 64;

  /** The buffer's size as a multiple of what has arrived: a peer that sends little holds little. */
  private static final int GROWTH = 4;

  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int CONTINUATION = 9;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;
  private static final int PADDED = 8;

  private boolean started;

  /** For frames from a client, after its preface. */
  FrameCutter() {}

  /** For frames from a server. */
  public static FrameCutter ofServer() {
    FrameCutter cutter = new FrameCutter();
    cutter.started = true;
    return cutter;
  }

  /** A frame above the limit has arrived: the decoder reports it. */
  private boolean lost;

  /** The beginning of an incomplete frame. */
  private @Nullable ByteBuf part;

  /** Headers that continue in further frames have begun. */
  private boolean withinHeaders;

  /** Missing bytes of a data frame whose beginning was passed on. */
  private int dataLeft;

  private int dataStream;
  private int dataFlags;

  /** Bytes of data frames passed on in pieces. */
  private long dataBytes;

  /** How often a frame, and what it is part of, has ended. */
  private long ends;

  /** True when a frame, or headers of several frames, have begun and are incomplete. */
  boolean isWithin() {
    return part != null || withinHeaders || dataLeft > 0;
  }

  /** Grows while a frame of data arrives in pieces. */
  long dataBytes() {
    return dataBytes;
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
    boolean owned = ReceiveBuffers.hasHeadroom(in);
    if (dataLeft > 0) {
      in = continueData(ctx, in, owned);
      if (dataLeft > 0) {
        pass(ctx, in);
        return;
      }
    } else if (part != null && !completePart(ctx, part, in)) {
      in.release();
      return;
    }
    int end = wholeEnd(in);
    if (end < in.writerIndex() && !lost && !(owned && beginData(in, end))) {
      keepPart(ctx, in, end);
    }
    pass(ctx, in);
  }

  /**
   * Makes a frame of the beginning of a data frame.
   *
   * @param frame where it begins
   * @return false when it is not data, or none of its payload is here
   */
  private boolean beginData(ByteBuf in, int frame) {
    int have = in.writerIndex() - frame - HEADER_BYTES;
    if (have <= 0 || in.getByte(frame + 3) != DATA || (in.getByte(frame + 4) & PADDED) != 0) {
      return false;
    }
    dataLeft = in.getUnsignedMedium(frame) - have;
    dataFlags = in.getByte(frame + 4);
    dataStream = in.getInt(frame + 5);
    dataBytes += have;
    setHeader(in, frame, have, dataFlags & ~END_STREAM);
    return true;
  }

  /**
   * Makes a frame of the next piece of a data frame.
   *
   * @param in taken
   * @param owned whether there is room before it
   * @return a buffer that begins with that frame
   */
  private ByteBuf continueData(ChannelHandlerContext ctx, ByteBuf in, boolean owned) {
    ByteBuf framed = in;
    if (owned) {
      framed.readerIndex(in.readerIndex() - HEADER_BYTES);
    } else {
      framed = ctx.alloc().directBuffer(HEADER_BYTES + in.readableBytes());
      framed.writerIndex(HEADER_BYTES).writeBytes(in);
      in.release();
    }
    int have = Math.min(dataLeft, framed.readableBytes() - HEADER_BYTES);
    dataLeft -= have;
    dataBytes += have;
    int flags = dataLeft == 0 ? dataFlags : dataFlags & ~END_STREAM;
    setHeader(framed, framed.readerIndex(), have, flags);
    return framed;
  }

  private void setHeader(ByteBuf in, int frame, int length, int flags) {
    in.setMedium(frame, length);
    in.setByte(frame + 3, DATA);
    in.setByte(frame + 4, flags);
    in.setInt(frame + 5, dataStream);
  }

  private void keepPart(ChannelHandlerContext ctx, ByteBuf in, int begin) {
    int have = in.writerIndex() - begin;
    ByteBuf rest = ctx.alloc().directBuffer(room(have));
    part = rest;
    rest.writeBytes(in, begin, have);
    in.writerIndex(begin);
  }

  private static void pass(ChannelHandlerContext ctx, ByteBuf in) {
    if (in.isReadable()) {
      ctx.fireChannelRead(in);
    } else {
      in.release();
    }
  }

  /** Moves missing bytes from the input; true when the part was completed and passed on. */
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
