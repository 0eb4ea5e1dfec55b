package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.HandlerRegistry;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerTransportFilter;
import io.netty.handler.ssl.SslContext;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Settings shared by all connections of a server. Immutable.
 *
 * @param tls asked for each connection; null for plain text
 * @param methods by path without the leading slash
 * @param fallback asked for other methods
 * @param forwarder takes calls for other servers; may be null
 * @param filters told of each connection, in this order
 * @param headers of all calls
 * @param memory counts everything the server keeps for peers
 * @param inflating threads that decompress large messages
 * @param load told of connections and calls
 * @param failed told the cause when a thread of the server has died
 * @param limits of connections and calls
 * @param times allowed to clients
 * @param keepAlive of connections that are established
 */
record ServerSettings(
    @Nullable Supplier<SslContext> tls,
    Map<String, ServerMethodDefinition<?, ?>> methods,
    @Nullable HandlerRegistry fallback,
    @Nullable CallForwarder forwarder,
    List<ServerTransportFilter> filters,
    HeaderCodec headers,
    PeerMemory memory,
    FairTurns inflating,
    LoadListener load,
    Consumer<Throwable> failed,
    Limits limits,
    Times times,
    KeepAlivePolicy keepAlive) {

  /**
   * @param maxMessageBytes of one message, also decompressed
   * @param maxMetadataBytes of one call's header fields
   * @param maxConcurrentStreams calls of one connection at a time
   * @param maxCalls of all connections together; further ones are refused
   * @param maxConnections sockets, including those in a handshake
   * @param streamWindowBytes that a client may send to one stream unacknowledged
   */
  record Limits(
      int maxMessageBytes,
      int maxMetadataBytes,
      int maxConcurrentStreams,
      int maxCalls,
      int maxConnections,
      int streamWindowBytes) {}

  /**
   * How long clients may take, in nanoseconds.
   *
   * @param handshake from the connection to the first frame of HTTP/2
   * @param stalled after which a call with a stalled message ends
   * @param unread after which a call with an unread answer ends
   */
  record Times(long handshake, long stalled, long unread) {}
}
