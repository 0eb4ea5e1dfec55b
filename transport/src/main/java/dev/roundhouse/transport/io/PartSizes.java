package dev.roundhouse.transport.io;

import io.netty.channel.WriteBufferWaterMark;

/** How much of a body over HTTP/1.1 is read at a time, and may wait to be written. */
public final class PartSizes {
  /** Bytes per read; a part has at most as many. */
  public static final int READ_BYTES = 1 << 16;

  /** One part does not reach the upper mark, so reading is paused only when parts pile up. */
  public static final WriteBufferWaterMark WRITE_MARKS =
      new WriteBufferWaterMark(READ_BYTES / 2, READ_BYTES + READ_BYTES / 2);

  /** What a peer that does not read can make us hold: up to the upper mark, and one part more. */
  public static final int HELD_UP_BYTES = WRITE_MARKS.high() + READ_BYTES;

  private PartSizes() {}
}
