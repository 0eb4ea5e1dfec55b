package dev.roundhouse.gateway.fleet;

import java.net.InetSocketAddress;

/**
 * Where a worker listens; host names are not resolved.
 *
 * @param name that operators know it by
 * @param metrics its port for operators
 */
public record WorkerAddress(
    String name, InetSocketAddress grpc, InetSocketAddress http, InetSocketAddress metrics) {
  private static final int MOST_PORT = 65_535;

  /**
   * Reads {@code host:port}; an address with colons is in brackets.
   *
   * @throws IllegalArgumentException when it is invalid
   */
  public static InetSocketAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      String host = text.substring(0, Math.max(colon, 0)).replaceAll("^\\[|\\]$", "");
      if (!host.isBlank() && port > 0 && port <= MOST_PORT) {
        return InetSocketAddress.createUnresolved(host, port);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException("'" + text + "' is not host:port");
  }
}
