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
 * Reads and decompresses bodies. Memory grows with what has arrived, so a client that announces
 * much and sends little holds little; each growth is counted first. Blocks its virtual thread, so a
 * slow client delays no other. Long decompression is done in turns with that of other clients.
 */
public final class BodyReader {
  /** Fits most requests in one piece; every request, even an empty one, costs this much. */
  private static final int FIRST_BYTES = 64 << 10;

  /** Few copies for large bodies, at most this multiple of what has arrived. */
  private static final int GROWTH = 4;

  private final MemoryHold memory;
  private final int limit;
  private final String limitedBy;
  private final Turns turns;

  /** Runs the rest of a decompression. */
  public interface Turns {
    /** False when the server has stopped. */
    boolean submit(FairTurns.Job job);
  }

  /**
   * @param limit bytes that a body may have, decompressed
   * @param limitedBy advice for the caller
   */
  public BodyReader(MemoryHold memory, int limit, String limitedBy, Turns turns) {
    this.memory = memory;
    this.limit = limit;
    this.limitedBy = limitedBy;
    this.turns = turns;
  }

  /**
   * Decompresses the body of a request in memory.
   *
   * @param encoding its Content-Encoding
   * @param body of which so many bytes are its own
   * @param unwanted true when it is no longer wanted; any thread
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

  /** A body while it arrives. */
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
     * Reads further.
     *
     * @param most bytes at a time
     * @return true when all has arrived
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
