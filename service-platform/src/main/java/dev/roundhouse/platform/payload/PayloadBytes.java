package dev.roundhouse.platform.payload;

import dev.roundhouse.platform.payload.PayloadLog.Drop;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A message that is collected while it passes, up to {@code max-payload}, and counted with what
 * waits to be sent. What goes wrong costs the copy only. For one thread.
 */
public final class PayloadBytes {
  private static final int FIRST_BYTES = 512;
  private static final byte[] NOTHING = {};

  private final PayloadLog log;
  private final PayloadRoom room;
  private byte[] bytes = NOTHING;
  private int length;

  /** Why there will be no message; null while there may be. */
  private @Nullable Drop given;

  public PayloadBytes(PayloadLog log) {
    this.log = log;
    room = new PayloadRoom(log);
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
      giveUp(Drop.LARGE);
      return;
    }
    try {
      if (length + count > bytes.length && !grow(length + count)) {
        giveUp(Drop.FULL);
        return;
      }
      part.getBytes(part.readerIndex(), bytes, length, count);
      length += count;
    } catch (RuntimeException | Error e) { // no memory, most likely
      fail(e);
    }
  }

  /** False when there is no room. */
  private boolean grow(int least) {
    int wanted = Math.clamp(2L * bytes.length, Math.max(FIRST_BYTES, least), Integer.MAX_VALUE);
    int size = Math.min(wanted, Math.max(least, log.maxPayload()));
    if (!room.take(size - bytes.length)) {
      return false;
    }
    bytes = Arrays.copyOf(bytes, size);
    return true;
  }

  /** It cannot be had: it is counted as failed when it would have been whole. */
  public void fail(Throwable why) {
    giveUp(Drop.FAILED);
    log.warn(why);
  }

  private void giveUp(Drop why) {
    clear();
    given = why;
  }

  /**
   * It is whole, and is sent; or it is dropped, and counted. Nothing more is to be added.
   *
   * @param event made of it
   */
  public void offer(Function<byte[], PayloadEvent> event) {
    Drop why = given;
    if (why != null) {
      log.drop(why);
      return;
    }
    if (log.isClosed()) {
      log.drop(Drop.STOPPED);
      clear();
      return;
    }
    try {
      room.offer(event.apply(length == bytes.length ? bytes : Arrays.copyOf(bytes, length)));
    } catch (RuntimeException | Error e) {
      log.failed(e);
    } finally {
      clear();
    }
  }

  /** Nobody wants it. Harmless when repeated. */
  public void clear() {
    room.close();
    bytes = NOTHING;
    length = 0;
  }
}
