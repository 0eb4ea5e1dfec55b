package dev.roundhouse.platform.payload;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A message that is collected while it passes, up to {@code max-payload}, and counted with what
 * waits to be sent. For one thread.
 */
public final class PayloadBytes {
  private static final int FIRST_BYTES = 512;
  private static final byte[] NOTHING = {};

  private final PayloadLog log;
  private byte[] bytes = NOTHING;
  private int length;

  /** Why there will be no message; null while there may be. */
  private PayloadLog.@Nullable Drop given;

  public PayloadBytes(PayloadLog log) {
    this.log = log;
  }

  /**
   * @param part borrowed; its indices stay where they are
   */
  public void add(ByteBuf part) {
    int count = part.readableBytes();
    if (given != null || count == 0) {
      return;
    }
    if (count > log.maxPayload() - length) {
      giveUp(PayloadLog.Drop.LARGE);
      return;
    }
    if (length + count > bytes.length) {
      int wanted =
          Math.clamp(2L * bytes.length, Math.max(FIRST_BYTES, length + count), Integer.MAX_VALUE);
      int size = Math.min(wanted, Math.max(length + count, log.maxPayload()));
      if (!log.take(size - bytes.length)) {
        giveUp(PayloadLog.Drop.FULL);
        return;
      }
      bytes = Arrays.copyOf(bytes, size);
    }
    part.getBytes(part.readerIndex(), bytes, length, count);
    length += count;
  }

  private void giveUp(PayloadLog.Drop why) {
    clear();
    given = why;
  }

  /**
   * The whole message, which is then no longer counted here.
   *
   * @return null when there was no room for it, which has been counted
   */
  public byte @Nullable [] whole() {
    if (given != null) {
      log.drop(given);
      return null;
    }
    byte[] whole = Arrays.copyOf(bytes, length);
    clear();
    return whole;
  }

  /** Nobody wants it. Harmless when repeated. */
  public void clear() {
    log.giveBack(bytes.length);
    bytes = NOTHING;
    length = 0;
  }
}
