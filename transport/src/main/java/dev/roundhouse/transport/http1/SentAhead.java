package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.PartSizes;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * What a connection keeps of heads and of requests sent before the previous answer, and what is
 * counted for it. For the connection's event loop.
 */
final class SentAhead {
  private final ConnectionMemory memory;

  /** A request or two; the rest stays undecoded. */
  private final Queue<Part> parts = new ArrayDeque<>(1);

  private long aheadBytes;
  private long headBytes;
  private long partBytes;

  /**
   * @param message a part of a request
   * @param headBytes counted for it, when it is a head
   */
  record Part(Object message, long headBytes) {}

  SentAhead(ConnectionMemory memory) {
    this.memory = memory;
  }

  boolean isEmpty() {
    return parts.isEmpty();
  }

  void add(Part part) {
    long read = parts.isEmpty() ? PartSizes.READ_BYTES : 0; // received and not decoded
    long bytes = read + part.headBytes();
    memory.add(Kept.CALL, bytes);
    aheadBytes += bytes;
    parts.add(part);
  }

  /** The next part, which the caller owns. */
  Part next() {
    return parts.remove();
  }

  /** All parts are taken. */
  void forgetAhead() {
    aheadBytes = forget(aheadBytes);
  }

  /** Counts a head while its request is in progress; null when there is room. */
  @Nullable String keepHead(long bytes) {
    String full = bytes == 0 ? null : memory.take(Kept.CALL, bytes);
    headBytes = full == null ? bytes : 0;
    return full;
  }

  void forgetHead() {
    headBytes = forget(headBytes);
  }

  /** Counts this many bytes of an incomplete head. */
  void keepPart(long bytes) {
    if (bytes > partBytes) {
      memory.add(Kept.CALL, bytes - partBytes);
      partBytes = bytes;
    }
  }

  void forgetPart() {
    partBytes = forget(partBytes);
  }

  private long forget(long bytes) {
    if (bytes > 0) {
      memory.giveBack(Kept.CALL, bytes);
    }
    return 0;
  }

  void close() {
    while (!parts.isEmpty()) {
      ReferenceCountUtil.release(parts.remove().message());
    }
    forgetAhead();
    forgetHead();
    forgetPart();
  }
}
