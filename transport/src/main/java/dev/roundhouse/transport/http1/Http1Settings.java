package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.handler.ssl.SslContext;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What all connections of a server have in common. Immutable.
 *
 * @param address to listen on; port 0 takes a free one
 * @param tls asked for each connection; gives null for plain text
 * @param guard asked of each request before its route
 * @param routes say who answers a request
 * @param error makes a body, which is JSON, of a text for the client
 * @param load hears of connections, of requests, and of those that stalled
 * @param failed hears why when the server cannot be relied on any more: a thread of it is gone
 * @param memory where all that clients make the server keep is counted
 * @param body of requests whose handler wants no other
 * @param limits of connections
 * @param times that clients have
 */
public record Http1Settings(
    SocketAddress address,
    Supplier<@Nullable SslContext> tls,
    RequestGuard guard,
    RequestRoutes routes,
    Function<String, byte[]> error,
    LoadListener load,
    Consumer<Throwable> failed,
    PeerMemory memory,
    BodyLimits body,
    Limits limits,
    Times times) {

  /**
   * What a request may hold.
   *
   * @param maxBytes of a body as it is sent; of one that is refused, so many and 64 MiB are read
   *     and forgotten in 30 s, so that its client reads why
   * @param remedy what a client is told whose body is larger
   */
  public record BodyLimits(int maxBytes, String remedy) {}

  /**
   * @param maxConnections when there are as many, the one that has been idle for longest is closed;
   *     further ones wait to be accepted while none is idle
   * @param backlog how many may wait so
   * @param maxHeadBytes of a request's line, and of its header fields together
   * @param maxRequests of one connection, which is then closed; negative for any number
   */
  public record Limits(int maxConnections, int backlog, int maxHeadBytes, int maxRequests) {}

  /**
   * How long clients may take, in nanoseconds.
   *
   * @param silent from the connection to the first byte, and for each that the client does not take
   *     of an answer
   * @param idle from an answer to the next request
   * @param stalled for a head, and for the rest of a body or 16 KiB more of it
   * @param stalledRemedy what a client is told whose body stalls
   */
  public record Times(long silent, long idle, long stalled, String stalledRemedy) {
    private static final long HURRIED_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** While others need the memory that a client holds. */
    Times hurried() {
      return new Times(
          Math.min(silent, HURRIED_NANOS),
          Math.min(idle, HURRIED_NANOS),
          Math.min(stalled, HURRIED_NANOS),
          "retry later: the server needs the memory that it holds");
    }
  }
}
