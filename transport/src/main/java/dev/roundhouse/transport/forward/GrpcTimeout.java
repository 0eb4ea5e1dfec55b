package dev.roundhouse.transport.forward;

import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;

/** A time as in the header {@code grpc-timeout}: at most eight digits, as precise as they allow. */
final class GrpcTimeout {
  private static final long MOST = 100_000_000;

  private GrpcTimeout() {}

  /**
   * @param nanos above 0
   */
  static AsciiString text(long nanos) {
    if (nanos < MOST) {
      return AsciiString.of(nanos + "n");
    }
    if (nanos < MOST * 1_000) {
      return AsciiString.of(TimeUnit.NANOSECONDS.toMicros(nanos) + "u");
    }
    if (nanos < MOST * 1_000_000) {
      return AsciiString.of(TimeUnit.NANOSECONDS.toMillis(nanos) + "m");
    }
    return AsciiString.of(Math.min(MOST - 1, TimeUnit.NANOSECONDS.toSeconds(nanos)) + "S");
  }
}
