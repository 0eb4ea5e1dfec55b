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
 * Settings shared by all connections of a server. Immutable.
 *
 * @param address to listen on; port 0 takes a free one
 * @param tls asked for each connection; null for plain text
 * @param guard asked of each request before its route
 * @param routes choose who answers a request
 * @param error turns a text for the client into a JSON body
 * @param load is told of connections, requests and stalls
 * @param failed is told the cause when a thread of the server has died
 * @param memory counts all that the server keeps for clients
 * @param body limits of bodies unless the handler sets others
 * @param limits of connections
 * @param times allowed to clients
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
   * @param maxBytes of a body as sent; of a refused one, this much plus 64 MiB is discarded within
   *     30 s, so that its client reads why
   * @param remedy told to a client whose body is larger
   */
  public record BodyLimits(int maxBytes, String remedy) {}

  /**
   * @param maxConnections at this number the connection idle longest is closed; while none is idle,
   *     further ones wait to be accepted
   * @param backlog how many may wait
   * @param maxHeadBytes of the request line, and of all header fields together
   * @param maxRequests per connection, which is then closed; negative for no limit
   */
  public record Limits(int maxConnections, int backlog, int maxHeadBytes, int maxRequests) {}

  /**
   * How long clients may take, in nanoseconds.
   *
   * @param silent until the first byte, and between bytes that the client reads of an answer
   * @param idle from an answer to the next request
   * @param stalled for a head, and for the rest of a body or 16 KiB more of it
   * @param stalledRemedy told to a client whose body stalls
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
