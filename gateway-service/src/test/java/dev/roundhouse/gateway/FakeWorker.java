package dev.roundhouse.gateway;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceResponse;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelReadyResponse;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerMetadataResponse;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.proto.ServerReadyResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse.RegionStatus;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A worker that answers as it is told to, over real gRPC and HTTP: a model that it has not is not
 * found, and memory that it was not told of cannot be named.
 */
final class FakeWorker extends GRPCInferenceServiceImplBase implements AutoCloseable {
  final String name;
  final Map<String, String> models = new ConcurrentHashMap<>();
  final Map<String, ModelStatus> statuses = new ConcurrentHashMap<>();
  final Map<String, SystemSharedMemoryRegisterRequest> regions = new ConcurrentHashMap<>();

  /** Every call but looks, as {@code method model}. */
  final List<String> calls = new CopyOnWriteArrayList<>();

  volatile boolean ready = true;
  volatile Status failure = Status.OK;
  volatile boolean sameNamespace = true;
  volatile boolean opensRegions = true;

  /** Names of regions of memory on the GPU. */
  final Set<String> cudaRegions = ConcurrentHashMap.newKeySet();

  volatile long gpu;

  /** Whether failures are said to be of requests that it had begun with. */
  volatile boolean began;

  /** What answers to inference wait for; null for nothing. */
  volatile @Nullable CountDownLatch held;

  /** Calls of inference over gRPC that were taken back. */
  final AtomicInteger cancelled = new AtomicInteger();

  /** Whether requests over HTTP are refused before their bodies are read. */
  volatile boolean refusesUnread;

  volatile long weightRoom;
  private static final long MOST_SECONDS = 120;
  private static final Metadata.Key<String> BEGAN =
      Metadata.Key.of("roundhouse-began", Metadata.ASCII_STRING_MARSHALLER);

  private final @Nullable TestKeys keys;
  private Server server;
  private final HttpServer http;
  private int port;

  FakeWorker(String name, String... models) throws IOException {
    this(name, null, models);
  }

  /**
   * @param keys of its TLS, and of those clients that it answers; null for plain text
   */
  FakeWorker(String name, @Nullable TestKeys keys, String... models) throws IOException {
    this.name = name;
    this.keys = keys;
    for (String model : models) {
      add(model, 0);
    }
    if (keys == null) {
      http = HttpServer.create(loopback(0), 0);
    } else {
      HttpsServer secret = HttpsServer.create(loopback(0), 0);
      secret.setHttpsConfigurator(keys.http());
      http = secret;
    }
    http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    http.createContext("/", this::answer);
    http.start();
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
    failure = Status.OK;
    sameNamespace = true;
    opensRegions = true;
    refusesUnread = false;
    began = false;
    held = null;
    cancelled.set(0);
    models.clear();
    statuses.clear();
    regions.clear();
    cudaRegions.clear();
    gpu = 0;
    for (String model : with) {
      add(model, 0);
    }
    if (server.isShutdown()) {
      start();
    }
    calls.clear();
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** At the same port as before, and knowing nothing of what clients told it. */
  void start() throws IOException {
    regions.clear();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(loopback(port)).addService(this).addService(control);
    if (keys != null) {
      builder.sslContext(keys.grpc());
    }
    server = builder.build();
    server.start();
    port = server.getPort();
  }

  void stop() throws InterruptedException {
    server.shutdownNow().awaitTermination(20, TimeUnit.SECONDS);
  }

  WorkerAddress address() {
    return new WorkerAddress(
        name,
        InetSocketAddress.createUnresolved("127.0.0.1", port),
        InetSocketAddress.createUnresolved("127.0.0.1", http.getAddress().getPort()));
  }

  String[] settings() {
    String key = "--roundhouse.gateway.workers." + name;
    return new String[] {
      key + ".address=127.0.0.1:" + port, key + ".http=127.0.0.1:" + http.getAddress().getPort()
    };
  }

  @Override
  public void close() throws InterruptedException {
    stop();
    http.stop(0);
  }

  private <T> void answer(StreamObserver<T> call, String what, T answer) {
    calls.add(what);
    if (failure.isOk()) {
      reply(call, answer);
    } else {
      Metadata trailers = new Metadata();
      if (began) {
        trailers.put(BEGAN, "true");
      }
      call.onError(failure.asRuntimeException(trailers));
    }
  }

  private static <T> void reply(StreamObserver<T> call, T answer) {
    call.onNext(answer);
    call.onCompleted();
  }

  @Override
  public void serverReady(ServerReadyRequest request, StreamObserver<ServerReadyResponse> call) {
    reply(call, ServerReadyResponse.newBuilder().setReady(ready).build());
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> call) {
    RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
    models.forEach(
        (model, state) ->
            index.addModels(
                ModelIndex.newBuilder().setName(model).setVersion("1").setState(state)));
    reply(call, index.build());
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> call) {
    answer(
        call,
        "serverMetadata",
        ServerMetadataResponse.newBuilder()
            .setName("roundhouse")
            .addExtensions("all")
            .addExtensions("only " + name)
            .build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> call) {
    boolean isReady = "READY".equals(models.get(request.getName()));
    answer(call, "modelReady", ModelReadyResponse.newBuilder().setReady(isReady).build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> call) {
    if (requireModel(call, request.getName())) {
      answer(
          call,
          "modelMetadata " + request.getName(),
          ModelMetadataResponse.newBuilder().setName(request.getName()).setPlatform(name).build());
    }
  }

  private boolean requireModel(StreamObserver<?> call, String model) {
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

  @Override
  public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> call) {
    if (!requireModel(call, request.getModelName())) {
      return;
    }
    ServerCallStreamObserver<?> own = (ServerCallStreamObserver<?>) call;
    own.setOnCancelHandler(cancelled::incrementAndGet);
    CountDownLatch until = held;
    String what = "modelInfer " + request.getModelName();
    if (until == null) {
      answer(call, what, inferred(request));
      return;
    }
    calls.add(what);
    Thread.startVirtualThread(
        () -> {
          await(until);
          if (!own.isCancelled()) {
            reply(call, inferred(request));
          }
        });
  }

  private static void await(CountDownLatch until) {
    try {
      if (!until.await(MOST_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the test does not let it answer");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private ModelInferResponse inferred(ModelInferRequest request) {
    return ModelInferResponse.newBuilder()
        .setModelName(request.getModelName())
        .setId(name)
        .addAllRawOutputContents(request.getRawInputContentsList())
        .build();
  }

  @Override
  public StreamObserver<ModelInferRequest> modelStreamInfer(
      StreamObserver<ModelStreamInferResponse> call) {
    return new StreamObserver<>() {
      @Override
      public void onNext(ModelInferRequest request) {
        calls.add("stream " + request.getModelName());
        call.onNext(
            ModelStreamInferResponse.newBuilder().setInferResponse(inferred(request)).build());
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {
        call.onCompleted();
      }
    };
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> call) {
    if (!request.getName().isEmpty() && !models.containsKey(request.getName())) {
      call.onError(Status.INVALID_ARGUMENT.withDescription("no stats").asRuntimeException());
      return;
    }
    ModelStatisticsResponse.Builder all = ModelStatisticsResponse.newBuilder();
    models
        .keySet()
        .forEach(
            model ->
                all.addModelStats(
                    ModelStatistics.newBuilder()
                        .setName(model)
                        .setVersion("1")
                        .setInferenceCount(10)));
    answer(call, "modelStatistics", all.build());
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> call) {
    if (failure.isOk()) {
      models.put(request.getModelName(), "READY");
    }
    answer(
        call,
        "load " + request.getModelName(),
        RepositoryModelLoadResponse.newBuilder()
            .setModelName(request.getModelName())
            .setIsLoaded(true)
            .build());
  }

  @Override
  public void isSameIPCNamespace(
      IsSameIPCNamespaceRequest request, StreamObserver<IsSameIPCNamespaceResponse> call) {
    answer(
        call,
        "isSameIPCNamespace",
        IsSameIPCNamespaceResponse.newBuilder().setSame(sameNamespace).build());
  }

  @Override
  public void logSettings(LogSettingsRequest request, StreamObserver<LogSettingsResponse> call) {
    answer(call, "logSettings", LogSettingsResponse.getDefaultInstance());
  }

  @Override
  public void systemSharedMemoryStatus(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> call) {
    SystemSharedMemoryStatusResponse.Builder known = SystemSharedMemoryStatusResponse.newBuilder();
    regions.forEach(
        (region, told) ->
            known.putRegions(
                region, RegionStatus.newBuilder().setName(region).setKey(told.getKey()).build()));
    reply(call, known.build());
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> call) {
    if (!opensRegions) {
      call.onError(
          Status.INVALID_ARGUMENT
              .withDescription("Unable to open shared memory region")
              .asRuntimeException());
      return;
    }
    regions.put(request.getName(), request);
    answer(
        call,
        "register " + request.getName(),
        SystemSharedMemoryRegisterResponse.getDefaultInstance());
  }

  @Override
  public void cudaSharedMemoryRegister(
      CudaSharedMemoryRegisterRequest request,
      StreamObserver<CudaSharedMemoryRegisterResponse> call) {
    if (request.getDeviceId() != gpu) {
      call.onError(
          Status.INVALID_ARGUMENT
              .withDescription("this worker's GPU is " + gpu)
              .asRuntimeException());
      return;
    }
    cudaRegions.add(request.getName());
    reply(call, CudaSharedMemoryRegisterResponse.getDefaultInstance());
  }

  @Override
  public void cudaSharedMemoryUnregister(
      CudaSharedMemoryUnregisterRequest request,
      StreamObserver<CudaSharedMemoryUnregisterResponse> call) {
    cudaRegions.remove(request.getName());
    reply(call, CudaSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> call) {
    regions.remove(request.getName());
    if (request.getName().isEmpty()) {
      regions.clear();
    }
    answer(
        call,
        "unregister " + request.getName(),
        SystemSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  private final ControlServiceImplBase control =
      new ControlServiceImplBase() {
        @Override
        public void modelControlStatus(
            ModelControlStatusRequest request, StreamObserver<ModelControlStatusResponse> call) {
          reply(
              call,
              ModelControlStatusResponse.newBuilder()
                  .setWeightCacheMaxBytes(weightRoom)
                  .addAllModels(statuses.values())
                  .build());
        }

        @Override
        public void setModelPolicy(
            SetModelPolicyRequest request, StreamObserver<SetModelPolicyResponse> call) {
          if (requireModel(call, request.getName())) {
            answer(
                call, "policy " + request.getName(), SetModelPolicyResponse.getDefaultInstance());
          }
        }

        @Override
        public void compactMemory(
            CompactMemoryRequest request, StreamObserver<CompactMemoryResponse> call) {
          answer(
              call,
              "compact " + request.getReloadModelsList(),
              CompactMemoryResponse.newBuilder()
                  .setReloadedModels(request.getReloadModelsCount())
                  .setResidentBytesAfter(100)
                  .build());
        }
      };

  /** Says who it is, what was asked, and what came with it. */
  private void answer(HttpExchange exchange) {
    try (exchange) {
      if (refusesUnread) {
        exchange.sendResponseHeaders(400, -1);
        return;
      }
      byte[] body = exchange.getRequestBody().readAllBytes();
      String path = exchange.getRequestURI().getPath();
      calls.add(exchange.getRequestMethod() + " " + path);
      CountDownLatch until = held;
      if (until != null && path.endsWith("/infer")) {
        await(until);
      }
      int code = failure.isOk() ? 200 : 503;
      if (began) {
        exchange.getResponseHeaders().add(BEGAN.name(), "true");
      }
      byte[] text =
          (name + " " + path + " " + new String(body, StandardCharsets.UTF_8))
              .getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "text/plain");
      exchange
          .getResponseHeaders()
          .add("X-Echo", String.valueOf(exchange.getRequestHeaders().getFirst("X-Echo")));
      exchange.sendResponseHeaders(code, text.length);
      exchange.getResponseBody().write(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
