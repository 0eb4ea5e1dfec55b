package dev.roundhouse.gateway;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.kserve.codec.GatewayProtocol;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.platform.access.Access;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A worker that answers as it is told to, over real gRPC and HTTP: a model that it has not is not
 * found, and memory that it was not told of cannot be named.
 */
final class FakeWorker implements AutoCloseable {
  static final Metadata.Key<String> BEGAN =
      Metadata.Key.of("roundhouse-began", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> SPENT =
      Metadata.Key.of(SpentHeader.NAME, Metadata.ASCII_STRING_MARSHALLER);
  static final Metadata.Key<String> ABOUT =
      Metadata.Key.of("roundhouse-about", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> SEALED =
      Metadata.Key.of(Access.SEALED_CALLER, Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  static final Metadata.Key<String> TRACEPARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);
  private static final long MOST_SECONDS = 120;

  final String name;
  final Map<String, String> models = new ConcurrentHashMap<>();
  final Map<String, ModelStatus> statuses = new ConcurrentHashMap<>();
  final Map<String, ModelConfig> configs = new ConcurrentHashMap<>();
  final FakeRegions memory = new FakeRegions(this);

  /** Every call but looks, as {@code method model}. */
  final List<String> calls = new CopyOnWriteArrayList<>();

  /** What each inference over gRPC was said to have spent; 0 where it was not said. */
  final List<Long> spent = new CopyOnWriteArrayList<>();

  /**
   * The context that each inference came in, over gRPC and HTTP; those without one are not here.
   */
  final List<String> traceparents = new CopyOnWriteArrayList<>();

  /** What each call but looks told of its caller, over gRPC and HTTP; and what it had shown. */
  final List<String> sealed = new CopyOnWriteArrayList<>();

  final List<String> authorized = new CopyOnWriteArrayList<>();

  volatile boolean ready = true;
  volatile Status failure = Status.OK;
  volatile boolean sameNamespace = true;

  /** Whether failures are said to be of requests that it had begun with. */
  volatile boolean began;

  /** Whom {@link #failure} is about; empty when that is not said. */
  volatile String about = "";

  /** What answers to inference wait for; null for nothing. */
  volatile @Nullable CountDownLatch held;

  /** Calls of inference over gRPC that were taken back. */
  final AtomicInteger cancelled = new AtomicInteger();

  /** Whether requests over HTTP are refused before their bodies are read. */
  volatile boolean refusesUnread;

  volatile long weightRoom;

  /** The one version that it speaks. */
  volatile int protocol = GatewayProtocol.LATEST;

  /** Where it says that it takes tensor streams; 0 for nowhere. */
  volatile int streamPort;

  /** Which start this is. */
  volatile String instance = "";

  /** What operators are answered, by path. */
  final Map<String, String> operators = new ConcurrentHashMap<>();

  private @Nullable WorkerKeys keys;
  private FakeHttp http;
  private Server server;
  private int port;

  FakeWorker(String name, String... models) throws IOException {
    this(name, null, models);
  }

  /**
   * @param keys of its TLS, and of those clients that it answers; null for plain text
   */
  FakeWorker(String name, @Nullable WorkerKeys keys, String... models) throws IOException {
    this.name = name;
    this.keys = keys;
    for (String model : models) {
      add(model, 0);
    }
    http = new FakeHttp(this, keys, 0);
    start();
  }

  void add(String model, double computeSeconds) {
    models.put(model, "READY");
    statuses.put(
        model,
        ModelStatus.newBuilder()
            .setName(model)
            .setTotalComputeSeconds(computeSeconds)
            .setRequestsServed((long) (computeSeconds * 10))
            .setRowsServed((long) (computeSeconds * 10))
            .setMaxBatchSize(4)
            .setBatchAxis(1)
            .setWeightNbytes(1000)
            .build());
  }

  /** As a worker that has just started, with these models. */
  void reset(String... with) throws IOException {
    ready = true;
    protocol = GatewayProtocol.LATEST;
    failure = Status.OK;
    sameNamespace = true;
    refusesUnread = false;
    began = false;
    about = "";
    held = null;
    cancelled.set(0);
    models.keySet().retainAll(Set.of(with)); // a gateway may look at any moment
    configs.clear();
    statuses.keySet().retainAll(Set.of(with));
    memory.reset();
    instance = UUID.randomUUID().toString();
    for (String model : with) {
      add(model, 0);
    }
    if (server.isShutdown()) {
      start();
    }
    calls.clear();
  }

  static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** At the same port as before, and knowing nothing of what clients told it. */
  void start() throws IOException {
    memory.forget();
    instance = UUID.randomUUID().toString();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(loopback(port))
            .addService(ServerInterceptors.intercept(new FakeInference(this), this::noteSpent))
            .addService(new FakeControl(this))
            .addService(ServerInterceptors.intercept(new FakeV1(this), this::noteSpent));
    if (keys != null) {
      builder.sslContext(keys.grpc());
    }
    server = builder.build();
    server.start();
    port = server.getPort();
  }

  private <Q, R> ServerCall.Listener<Q> noteSpent(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    if (call.getMethodDescriptor().getFullMethodName().endsWith("/ModelInfer")) {
      spent.add(SpentHeader.nanos(headers.get(SPENT)));
      noteTrace(headers.get(TRACEPARENT));
    }
    noteCaller(headers.get(SEALED), headers.get(AUTHORIZATION));
    return next.startCall(call, headers);
  }

  void noteCaller(@Nullable String told, @Nullable String shown) {
    if (told != null) {
      sealed.add(told);
    }
    if (shown != null) {
      authorized.add(shown);
    }
  }

  void noteTrace(@Nullable String traceparent) {
    if (traceparent != null) {
      traceparents.add(traceparent);
    }
  }

  /** Starts anew, at the same ports, with other keys. */
  void renew(WorkerKeys by) throws IOException, InterruptedException {
    int httpPort = http.port();
    close();
    keys = by;
    http = new FakeHttp(this, by, httpPort);
    start();
  }

  void stop() throws InterruptedException {
    server.shutdownNow().awaitTermination(20, TimeUnit.SECONDS);
  }

  WorkerAddress address() {
    return new WorkerAddress(
        name,
        InetSocketAddress.createUnresolved("127.0.0.1", port),
        InetSocketAddress.createUnresolved("127.0.0.1", http.port()),
        InetSocketAddress.createUnresolved("127.0.0.1", http.port()));
  }

  String[] settings() {
    String key = "--roundhouse.gateway.workers." + name;
    return new String[] {
      key + ".address=127.0.0.1:" + port,
      key + ".http=127.0.0.1:" + http.port(),
      key + ".metrics=127.0.0.1:" + http.port()
    };
  }

  @Override
  public void close() throws InterruptedException {
    stop();
    http.close();
  }

  <T> void answer(StreamObserver<T> call, String what, T answer) {
    calls.add(what);
    if (failure.isOk()) {
      reply(call, answer);
    } else {
      Metadata trailers = new Metadata();
      if (began) {
        trailers.put(BEGAN, "true");
      }
      if (!about.isEmpty()) {
        trailers.put(ABOUT, about);
      }
      call.onError(failure.asRuntimeException(trailers));
    }
  }

  static <T> void reply(StreamObserver<T> call, T answer) {
    call.onNext(answer);
    call.onCompleted();
  }

  boolean requireModel(StreamObserver<?> call, String model) {
    if (models.containsKey(model)) {
      return true;
    }
    calls.add("refused " + model);
    call.onError(
        Status.NOT_FOUND
            .withDescription("Request for unknown model: '" + model + "' is not found")
            .asRuntimeException());
    return false;
  }

  static void await(CountDownLatch until) {
    try {
      if (!until.await(MOST_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the test does not let it answer");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
