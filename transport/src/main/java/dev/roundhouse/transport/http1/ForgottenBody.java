package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.TimeUnit;

/**
 * The rest of a body that is not wanted, which is read and forgotten: many clients send all before
 * they read why it is not. For one event loop.
 */
final class ForgottenBody {
  /** Beyond what a body may have. */
  static final long MORE_BYTES = 64 << 20;

  static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final Http1Settings.BodyLimits limits;
  private long bytes;
  private long sinceNanos;

  ForgottenBody(Http1Settings.BodyLimits limits) {
    this.limits = limits;
  }

  /** False when so much has come, or for so long, that no more is read. */
  boolean mayHave(ByteBuf data) {
    long now = System.nanoTime();
    sinceNanos = bytes == 0 ? now : sinceNanos;
    bytes += data.readableBytes();
    return bytes <= limits.maxBytes() + MORE_BYTES && now - sinceNanos <= MOST_NANOS;
  }
}
