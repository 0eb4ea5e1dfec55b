package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.transport.io.FairTurns;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads bodies, and uncompresses them. Memory grows with what has come, so that who says much and
 * sends little holds little, and each growth is counted first. Blocks its thread, which is virtual:
 * who sends slowly keeps nobody else from being read. What takes long to uncompress is done in
 * turns with that of other clients.
 */
public final class BodyReader {
  /** Large enough for most requests in one piece; the memory of each that sends nothing. */
  private static final int FIRST_BYTES = 64 << 10;

  /** Few copies for large bodies, and no more than so many times what has come. */
  private static final int GROWTH = 4;

  private final MemoryHold memory;
  private final int limit;
  private final String limitedBy;
  private final Turns turns;

  /** Has the rest of something uncompressed. */
  public interface Turns {
    /** False when the server has stopped. */
    boolean submit(FairTurns.Job job);
  }

  /**
   * @param limit bytes that a body may have, uncompressed
   * @param limitedBy what a caller is told to do about it
   */
  public BodyReader(MemoryHold memory, int limit, String limitedBy, Turns turns) {
    this.memory = memory;
    this.limit = limit;
    this.limitedBy = limitedBy;
    this.turns = turns;
  }

  /**
   * The body of a request that is here, uncompressed.
   *
   * @param encoding its Content-Encoding
   * @param body of which so many bytes are its own
   * @param unwanted true when nobody waits for it any more; any thread
   */
  public Body uncompressed(
      @Nullable String encoding, byte[] body, int length, BooleanSupplier unwanted) {
    BodyInflation inflation = new BodyInflation(this, memory, encoding, body, length, unwanted);
    if (!inflation.turn() && !turns.submit(inflation)) {
      throw new WireException(WireStatus.UNAVAILABLE, "Server exiting");
    }
    try {
      return inflation.whole().join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case RuntimeException refusal -> throw refusal;
        case Error error -> throw error;
        case null, default -> throw e;
      }
    }
  }

  /**
   * Memory for a body.
   *
   * @param expected bytes of it; below 0 when that is not known
   */
  Growing growing(int expected) {
    return new Growing(expected);
  }

  /** A body as it comes. */
  final class Growing {
    private final int expected;
    private byte[] bytes;
    private int length;

    private Growing(int expected) {
      this.expected = expected;
      int first = Math.min(expected < 0 ? FIRST_BYTES : Math.min(expected, FIRST_BYTES), limit);
      memory.take(first);
      bytes = new byte[first];
    }

    /**
     * Reads on.
     *
     * @param most bytes at a time
     * @return true when all has come
     */
    boolean readFrom(InputStream in, int most) throws IOException {
      for (int left = most; left > 0; ) {
        if (length == bytes.length) {
          int next = in.read();
          if (next < 0) {
            return true;
          }
          grow();
          bytes[length++] = (byte) next;
          left--;
        }
        int room = Math.min(bytes.length - length, left);
        int count = room == 0 ? 0 : in.read(bytes, length, room);
        if (count < 0) {
          return true;
        }
        length += count;
        left -= count;
      }
      return false;
    }

    private void grow() {
      int most = expected > bytes.length ? expected : limit;
      if (bytes.length == most) {
        throw tooLarge("has more than " + most + " bytes");
      }
      int size = (int) Math.min(most, (long) GROWTH * Math.max(bytes.length, 1));
      memory.take(size);
      byte[] smaller = bytes;
      bytes = Arrays.copyOf(smaller, size);
      memory.giveBack(smaller.length);
    }

    Body body() {
      return new Body(bytes, length);
    }
  }

  private WireException tooLarge(String size) {
    return WireException.invalidArgument(
        "the request's body %s, the limit is %d; %s".formatted(size, limit, limitedBy));
  }

  static WireException notEncoded(@Nullable String encoding, IOException failure) {
    return WireException.invalidArgument(
        "the request's body is not in its Content-Encoding '%s': %s"
            .formatted(encoding, failure.getMessage()));
  }
}
