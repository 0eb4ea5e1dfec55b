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
 * What all connections of a server have in common. Immutable.
 *
 * @param tls asked for each connection; null for plain text
 * @param methods by path without the slash before it
 * @param fallback asked for methods that are not among them
 * @param forwarder takes calls that are for other servers; null for none
 * @param filters told of each connection, in this order
 * @param headers of all calls
 * @param memory where everything is counted that peers make the server keep
 * @param inflating has the threads that uncompress what is large
 * @param load hears of connections and calls
 * @param failed hears why when a thread of the server is gone
 * @param maxMessageBytes of one message, uncompressed too
 * @param maxMetadataBytes of one call's header fields
 * @param maxConcurrentStreams calls of one connection at a time
 * @param maxCalls of all connections together; further ones are refused
 * @param maxConnections sockets, those in a handshake included
 * @param streamWindowBytes that a client may send to one stream before it is asked for more
 * @param handshakeNanos from the connection to the first frame of HTTP/2
 * @param stalledNanos after which a call ends whose message has stopped arriving
 * @param unreadNanos after which a call ends whose answer its client has stopped reading
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
    int maxMessageBytes,
    int maxMetadataBytes,
    int maxConcurrentStreams,
    int maxCalls,
    int maxConnections,
    int streamWindowBytes,
    long handshakeNanos,
    long stalledNanos,
    long unreadNanos,
    KeepAlivePolicy keepAlive) {}
