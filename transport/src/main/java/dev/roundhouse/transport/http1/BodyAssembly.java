package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Assembles one body from its parts. Memory grows with what has arrived, so a client that announces
 * much and sends little holds little; each growth is counted first. For one event loop.
 */
final class BodyAssembly {
  private static final int BAD_REQUEST = 400;
  static final int TOO_MANY = 429;

  /** Fits most requests in one piece; every request that sends a byte costs this much. */
  private static final int FIRST_BYTES = 64 << 10;

  /** Few copies for large bodies, at most this multiple of what has arrived. */
  private static final int GROWTH = 4;

  private static final byte[] NOTHING = new byte[0];

  private final Http1Settings.BodyLimits limits;
  private final MemoryBudget budget;

  /** The announced length, or else the limit. */
  private final int most;

  private final boolean announced;
  private byte[] bytes = NOTHING;
  private int length;

  /**
   * @param budget counts the body
   * @param contentLength the announced length; negative for none
   * @throws RequestRefusedException when that is too much
   */
  BodyAssembly(Http1Settings.BodyLimits limits, MemoryBudget budget, long contentLength)
      throws RequestRefusedException {
    this.limits = limits;
    this.budget = budget;
    if (contentLength > limits.maxBytes()) {
      throw tooLarge("has " + contentLength + " bytes");
    }
    announced = contentLength >= 0;
    most = announced ? (int) contentLength : limits.maxBytes();
  }

  /**
   * Adds a part.
   *
   * @param data read to its end
   * @throws RequestRefusedException when it is too large or there is no room; only {@link #close}
   *     may be called then
   */
  void add(ByteBuf data) throws RequestRefusedException {
    int count = data.readableBytes();
    if (count == 0) {
      return;
    }
    if (count > most - length) {
      throw tooLarge("has more than " + most + " bytes");
    }
    if (count > bytes.length - length) {
      grow(length + count);
    }
    data.readBytes(bytes, length, count);
    length += count;
  }

  private void grow(int needed) throws RequestRefusedException {
    int wanted = Math.max(announced ? Math.min(most, FIRST_BYTES) : FIRST_BYTES, needed);
    int size = (int) Math.min(most, Math.max(wanted, (long) GROWTH * length));
    String refusal = budget.take(size);
    if (refusal != null) {
      throw new RequestRefusedException(TOO_MANY, refusal);
    }
    byte[] smaller = bytes;
    try {
      bytes = Arrays.copyOf(smaller, size);
    } catch (OutOfMemoryError e) {
      budget.giveBack(size);
      throw new RequestRefusedException(
          TOO_MANY, "there is no memory to receive a body of " + size + " bytes; retry later");
    }
    budget.giveBack(smaller.length);
  }

  /** Bytes received. */
  int length() {
    return length;
  }

  byte[] bytes() {
    return bytes;
  }

  /** Gives back all memory; call once, unless the handler of the body does. */
  void close() {
    budget.giveBack(bytes.length);
    bytes = NOTHING;
  }

  private RequestRefusedException tooLarge(String size) {
    return new RequestRefusedException(
        BAD_REQUEST,
        "the request's body %s, the limit is %d; %s"
            .formatted(size, limits.maxBytes(), limits.remedy()));
  }
}
