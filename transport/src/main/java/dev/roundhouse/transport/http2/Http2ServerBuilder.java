package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.BindableService;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.HandlerRegistry;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerTransportFilter;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import java.io.File;
import java.io.InputStream;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a gRPC server on Netty's HTTP/2. Services, interceptors, filters and settings are those of
 * any {@link ServerBuilder}; unsupported options are refused. Services are called on event loops
 * and must not block them. For one thread.
 */
public final class Http2ServerBuilder extends ServerBuilder<Http2ServerBuilder> {
  /** The least that a call takes of the memory for connections and calls. */
  public static final long LEAST_CALL_BYTES = CallOpener.CALL_BYTES;

  private static final Logger log = LoggerFactory.getLogger(Http2ServerBuilder.class);
  private static final int MAX_THREADS = 8;
  private static final int MAX_INFLATING = 4;
  private static final long OFF = Long.MAX_VALUE;

  private final SocketAddress address;
  private final ServiceMethods methods = new ServiceMethods();
  private final List<ServerTransportFilter> filters = new ArrayList<>();
  private @Nullable HandlerRegistry fallback;
  private @Nullable CallForwarder forwarder;
  private DecompressorRegistry decompressors = DecompressorRegistry.getDefaultInstance();
  private CompressorRegistry compressors = CompressorRegistry.getDefaultInstance();
  private @Nullable Supplier<SslContext> tls;
  private PeerMemory memory = PeerMemory.unlimited();
  private LoadListener load = LoadListener.NONE;
  private Consumer<Throwable> failed = why -> log.error("the server has failed", why);
  private int maxMessageBytes = 4 << 20;
  private int maxMetadataBytes = 8 << 10;
  private int maxConcurrentStreams = 4096;
  private int maxCalls = Integer.MAX_VALUE;
  private int maxConnections = Integer.MAX_VALUE;
  private int streamWindowBytes = 1 << 20;
  private long handshakeNanos = TimeUnit.SECONDS.toNanos(20);
  private long stalledNanos = OFF;
  private long unreadNanos = OFF;
  private long keepAliveNanos = TimeUnit.HOURS.toNanos(2);
  private long keepAliveTimeoutNanos = TimeUnit.SECONDS.toNanos(20);
  private long maxIdleNanos = OFF;
  private long maxAgeNanos = OFF;
  private long maxAgeGraceNanos = OFF;
  private long permitPingNanos = TimeUnit.MINUTES.toNanos(5);
  private boolean permitPingWithoutCalls;

  private Http2ServerBuilder(SocketAddress address) {
    this.address = address;
  }

  /**
   * @param address to listen on; port 0 takes a free one
   */
  public static Http2ServerBuilder forAddress(SocketAddress address) {
    return new Http2ServerBuilder(address);
  }

  /** Listens with TLS; clients must negotiate HTTP/2 by ALPN. */
  public Http2ServerBuilder tls(
      KeyManagerFactory keys, @Nullable TrustManagerFactory trusted, ClientAuth clients)
      throws SSLException {
    SslContext context = ServerTls.context(keys, trusted, clients);
    return tls(() -> context);
  }

  /**
   * The same, with a context that may change.
   *
   * @param current asked for each connection, for one of {@link ServerTls#context}
   */
  public Http2ServerBuilder tls(Supplier<SslContext> current) {
    tls = current;
    return this;
  }

  /** Counts everything the server keeps for peers; without it there is no limit. */
  public Http2ServerBuilder peerMemory(PeerMemory account) {
    memory = account;
    return this;
  }

  /** Told of connections and calls as they begin and end. */
  public Http2ServerBuilder loadListener(LoadListener listener) {
    load = listener;
    return this;
  }

  /**
   * Told the cause when a thread of the server has died, and some or all of its connections hang.
   * Without it the failure is logged.
   */
  public Http2ServerBuilder failureListener(Consumer<Throwable> listener) {
    failed = listener;
    return this;
  }

  /** Forwards the calls that the forwarder takes. Interceptors do not see them. */
  public Http2ServerBuilder forward(CallForwarder forwarder) {
    this.forwarder = forwarder;
    return this;
  }

  /** Concurrent calls of a connection; its client makes further ones wait. */
  public Http2ServerBuilder maxConcurrentStreams(int most) {
    maxConcurrentStreams = positive("maxConcurrentStreams", most);
    return this;
  }

  /**
   * Concurrent calls of all connections together, each of which takes memory; further ones end with
   * RESOURCE_EXHAUSTED.
   */
  public Http2ServerBuilder maxCalls(int most) {
    maxCalls = positive("maxCalls", most);
    return this;
  }

  /** Connections above this are accepted and closed. */
  public Http2ServerBuilder maxConnections(int most) {
    maxConnections = positive("maxConnections", most);
    return this;
  }

  /**
   * What a client may send to a call before it is acknowledged as read. For a forwarded call, at
   * most this much is held each way.
   */
  public Http2ServerBuilder streamWindow(int bytes) {
    streamWindowBytes = positive("streamWindow", bytes);
    return this;
  }

  /**
   * Ends a call whose message, or single-message request, has begun to arrive and then brings less
   * than 16 KiB in this time; likewise a connection with an incomplete frame.
   */
  public Http2ServerBuilder stalledMessageTimeout(long time, TimeUnit unit) {
    stalledNanos = unit.toNanos(time);
    return this;
  }

  /** Ends a call whose client reads less than 16 KiB of the answer in this time. */
  public Http2ServerBuilder unreadAnswerTimeout(long time, TimeUnit unit) {
    unreadNanos = unit.toNanos(time);
    return this;
  }

  private static int positive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " is " + value + " and must be positive");
    }
    return value;
  }

  @Override
  public Http2ServerBuilder directExecutor() {
    return this;
  }

  @Override
  public Http2ServerBuilder executor(@Nullable Executor executor) {
    if (executor != null) {
      throw new UnsupportedOperationException(
          "services are called on event loops; one that blocks must pass its work on itself");
    }
    return this;
  }

  @Override
  public Http2ServerBuilder addService(ServerServiceDefinition service) {
    methods.add(service);
    return this;
  }

  @Override
  public Http2ServerBuilder addService(BindableService service) {
    return addService(service.bindService());
  }

  @Override
  public Http2ServerBuilder intercept(ServerInterceptor interceptor) {
    methods.add(interceptor);
    return this;
  }

  @Override
  public Http2ServerBuilder addTransportFilter(ServerTransportFilter filter) {
    filters.add(filter);
    return this;
  }

  @Override
  public Http2ServerBuilder fallbackHandlerRegistry(@Nullable HandlerRegistry registry) {
    fallback = registry;
    return this;
  }

  @Override
  public Http2ServerBuilder useTransportSecurity(File certificates, File key) {
    throw new UnsupportedOperationException(
        "keys in files are not read here: give a KeyManagerFactory to tls()");
  }

  @Override
  public Http2ServerBuilder useTransportSecurity(InputStream certificates, InputStream key) {
    throw new UnsupportedOperationException(
        "keys in files are not read here: give a KeyManagerFactory to tls()");
  }

  @Override
  public Http2ServerBuilder decompressorRegistry(@Nullable DecompressorRegistry registry) {
    decompressors = registry == null ? DecompressorRegistry.getDefaultInstance() : registry;
    return this;
  }

  @Override
  public Http2ServerBuilder compressorRegistry(@Nullable CompressorRegistry registry) {
    compressors = registry == null ? CompressorRegistry.getDefaultInstance() : registry;
    return this;
  }

  /** Time to connect, with TLS or without, until the client's settings have arrived. */
  @Override
  public Http2ServerBuilder handshakeTimeout(long time, TimeUnit unit) {
    handshakeNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder keepAliveTime(long time, TimeUnit unit) {
    keepAliveNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder keepAliveTimeout(long time, TimeUnit unit) {
    keepAliveTimeoutNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder maxConnectionIdle(long time, TimeUnit unit) {
    maxIdleNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder maxConnectionAge(long time, TimeUnit unit) {
    maxAgeNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder maxConnectionAgeGrace(long time, TimeUnit unit) {
    maxAgeGraceNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder permitKeepAliveTime(long time, TimeUnit unit) {
    permitPingNanos = unit.toNanos(time);
    return this;
  }

  @Override
  public Http2ServerBuilder permitKeepAliveWithoutCalls(boolean permit) {
    permitPingWithoutCalls = permit;
    return this;
  }

  @Override
  public Http2ServerBuilder maxInboundMessageSize(int bytes) {
    maxMessageBytes = positive("maxInboundMessageSize", bytes);
    return this;
  }

  @Override
  public Http2ServerBuilder maxInboundMetadataSize(int bytes) {
    maxMetadataBytes = positive("maxInboundMetadataSize", bytes);
    return this;
  }

  @Override
  public Server build() {
    ServerSettings settings =
        new ServerSettings(
            tls,
            methods.all(),
            fallback,
            forwarder,
            List.copyOf(filters),
            new HeaderCodec(decompressors, compressors),
            memory,
            new FairTurns("inflate", inflatingThreads()),
            load,
            failed,
            new ServerSettings.Limits(
                maxMessageBytes,
                maxMetadataBytes,
                maxConcurrentStreams,
                maxCalls,
                maxConnections,
                streamWindowBytes),
            new ServerSettings.Times(handshakeNanos, stalledNanos, unreadNanos),
            new KeepAlivePolicy(
                keepAliveNanos,
                keepAliveTimeoutNanos,
                maxIdleNanos,
                maxAgeNanos,
                maxAgeGraceNanos,
                permitPingNanos,
                permitPingWithoutCalls));
    int threads = Math.min(Runtime.getRuntime().availableProcessors(), MAX_THREADS);
    return new Http2Server(address, threads, settings, methods.services());
  }

  /** Half of the processors: one peer's decompression must leave some for the others. */
  private static int inflatingThreads() {
    return Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, MAX_INFLATING);
  }
}
