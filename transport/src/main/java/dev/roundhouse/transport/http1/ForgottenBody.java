package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.TimeUnit;

/**
 * Reads and discards the rest of an unwanted body: many clients send everything before they read
 * why it was refused. For one event loop.
 */
final class ForgottenBody {
  /** Discarded beyond the body limit. */
  static final long MORE_BYTES = 64 << 20;

  static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final Http1Settings.BodyLimits limits;
  private long bytes;
  private long sinceNanos;

  ForgottenBody(Http1Settings.BodyLimits limits) {
    this.limits = limits;
  }

  /** False when too much has arrived, or for too long: no more is read. */
  boolean mayHave(ByteBuf data) {
    long now = System.nanoTime();
    sinceNanos = bytes == 0 ? now : sinceNanos;
    bytes += data.readableBytes();
    return bytes <= limits.maxBytes() + MORE_BYTES && now - sinceNanos <= MOST_NANOS;
  }
}
