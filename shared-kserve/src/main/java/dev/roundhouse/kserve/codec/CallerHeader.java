package dev.roundhouse.kserve.codec;

import org.jspecify.annotations.Nullable;

/**
 * The header, of gRPC and of HTTP, by which a gateway tells a worker which client a request is
 * from. A gateway is one address for its workers; with this a worker divides its queues among the
 * gateway's clients. A gateway drops this header from clients.
 */
public final class CallerHeader {
  public static final String NAME = "roundhouse-caller";

  private CallerHeader() {}

  /**
   * Who asks, as far as shares of queues go.
   *
   * @param peer the address that the request comes from, as a number above 0
   * @param value of the header; null without one
   * @return not 0; the same for the same caller
   */
  public static int caller(int peer, @Nullable String value) {
    int caller = value == null ? peer : 31 * peer + value.hashCode();
    return caller == 0 ? 1 : caller;
  }
}
