package dev.roundhouse.kserve.codec;

import org.jspecify.annotations.Nullable;

/**
 * The header, of gRPC and of HTTP, by which a gateway tells a worker how much of the budget in a
 * request's parameters is gone, in nanoseconds: it passes messages on unchanged. Counts from when
 * it had the whole request. It drops this header from clients.
 */
public final class SpentHeader {
  public static final String NAME = "roundhouse-spent-ns";

  private SpentHeader() {}

  /** Nanoseconds; 0 without the header, or where it makes no sense. */
  public static long nanos(@Nullable String value) {
    try {
      return value == null ? 0 : Math.max(0, Long.parseLong(value));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
