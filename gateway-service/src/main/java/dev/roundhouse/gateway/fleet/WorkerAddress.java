package dev.roundhouse.gateway.fleet;

import io.netty.channel.unix.DomainSocketAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Where a worker listens; host names are not resolved.
 *
 * @param name that operators know it by
 * @param metrics its port for operators
 * @param stream where it takes tensor streams; null for the port that it tells
 */
public record WorkerAddress(
    String name,
    InetSocketAddress grpc,
    InetSocketAddress http,
    InetSocketAddress metrics,
    @Nullable SocketAddress stream) {
  private static final int MOST_PORT = 65_535;

  public WorkerAddress(
      String name, InetSocketAddress grpc, InetSocketAddress http, InetSocketAddress metrics) {
    this(name, grpc, http, metrics, null);
  }

  /**
   * Reads {@code host:port}, or the path of a socket in the file system; null for an empty text.
   *
   * @throws IllegalArgumentException when it is invalid
   */
  public static @Nullable SocketAddress parseStream(String text) {
    if (text.isEmpty()) {
      return null;
    }
    return text.startsWith("/") ? new DomainSocketAddress(text) : parse(text);
  }

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
