package dev.roundhouse.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelConfigResponse;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelMetadataResponse.TensorMetadata;
import dev.roundhouse.kserve.proto.ModelParameter;
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
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadResponse;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerLiveResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerMetadataResponse;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.proto.ServerReadyResponse;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A server with the models {@code double} (FP32 {@code x}, {@code y = 2x}) and {@code echo} (every
 * input is an output), and some more. It refuses what real servers let pass, and fails when it is
 * told to.
 */
class FakeServer extends GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase
    implements AutoCloseable {
  /** What came, in order: the request, and what was left of its deadline in nanoseconds. */
  record Arrival(ModelInferRequest request, long leftNanos, @Nullable String authorization) {}

  final BlockingQueue<Arrival> arrivals = new LinkedBlockingQueue<>();
  final AtomicInteger cancelled = new AtomicInteger();

  /** The context that each call came in, of those that had one. */
  final List<String> traceparents = new CopyOnWriteArrayList<>();

  /** Calls that are held are answered when this is false again. */
  final AtomicBoolean hold = new AtomicBoolean();

  /** Whether it tells how models are configured. */
  final AtomicBoolean config = new AtomicBoolean(true);

  /** Whether it says that its models may answer a request many times. */
  volatile boolean decoupled;

  static final int MAX_BATCH = 8;

  /** Elements that {@code widen} makes of one. */
  static final int WIDTH = 8192;

  private final Set<String> loaded = ConcurrentHashMap.newKeySet();
  private static final Context.Key<String> AUTHORIZATION = Context.key("authorization");
  private final Queue<StatusRuntimeException> refusals = new ConcurrentLinkedQueue<>();
  private final Set<Runnable> held = ConcurrentHashMap.newKeySet();
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final Server server;

  FakeServer() throws IOException {
    this(io.grpc.InsecureServerCredentials.create());
  }

  FakeServer(ServerCredentials credentials) throws IOException {
    this(credentials, 0);
  }

  FakeServer(ServerCredentials credentials, int port) throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port), credentials)
            .maxInboundMessageSize(64 << 20)
            .executor(executor)
            .addService(this)
            .intercept(new SeeAuthorization())
            .build()
            .start();
  }

  int port() {
    return server.getPort();
  }

  String address() {
    return "127.0.0.1:" + port();
  }

  /** The next so many calls end with this. */
  void refuse(int times, Status status) {
    refuse(times, status, new Metadata());
  }

  void refuse(int times, Status status, Metadata trailers) {
    for (int i = 0; i < times; i++) {
      refusals.add(status.asRuntimeException(trailers));
    }
  }

  /** Trailers of a Roundhouse server with a reason. */
  static Metadata reason(String name, String value) {
    Metadata trailers = new Metadata();
    trailers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return trailers;
  }

  /** The next request that came. */
  Arrival arrival() throws InterruptedException {
    Arrival next = arrivals.poll(30, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no request came in 30 s");
    }
    return next;
  }

  void release() {
    hold.set(false);
    for (Runnable each : held) {
      if (held.remove(each)) {
        each.run();
      }
    }
  }

  @Override
  public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> observer) {
    Deadline deadline = Context.current().getDeadline();
    arrivals.add(
        new Arrival(
            request,
            deadline == null ? Long.MAX_VALUE : deadline.timeRemaining(TimeUnit.NANOSECONDS),
            AUTHORIZATION.get()));
    ((ServerCallStreamObserver<ModelInferResponse>) observer)
        .setOnCancelHandler(cancelled::incrementAndGet);
    StatusRuntimeException refusal = refusals.poll();
    if (refusal != null) {
      observer.onError(refusal);
      return;
    }
    Runnable end = () -> end(request, observer);
    if (hold.get()) {
      held.add(end);
      return;
    }
    end.run();
  }

  private void end(ModelInferRequest request, StreamObserver<ModelInferResponse> observer) {
    try {
      observer.onNext(answer(request));
      observer.onCompleted();
    } catch (StatusRuntimeException e) {
      observer.onError(e);
    }
  }

  @Override
  public void serverLive(ServerLiveRequest request, StreamObserver<ServerLiveResponse> observer) {
    answer(observer, ServerLiveResponse.newBuilder().setLive(true).build());
  }

  @Override
  public void serverReady(
      ServerReadyRequest request, StreamObserver<ServerReadyResponse> observer) {
    answer(observer, ServerReadyResponse.newBuilder().setReady(true).build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> observer) {
    boolean ready = request.getName().equals("double") || loaded.contains(request.getName());
    answer(observer, ModelReadyResponse.newBuilder().setReady(ready).build());
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> observer) {
    answer(
        observer,
        ServerMetadataResponse.newBuilder()
            .setName("fake")
            .setVersion("0")
            .addExtensions("model_repository")
            .build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> observer) {
    List<Long> shape =
        switch (request.getName()) {
          case "double" -> List.of(-1L, -1L);
          case "pair" -> List.of(-1L, 2L);
          case "columns" -> List.of(2L, -1L);
          case "widen" -> List.of(-1L, 1L);
          default -> List.of();
        };
    if (shape.isEmpty()) {
      observer.onError(
          Status.NOT_FOUND
              .withDescription("unknown model '" + request.getName() + "'")
              .asRuntimeException());
      return;
    }
    TensorMetadata.Builder tensor =
        TensorMetadata.newBuilder().setDatatype("FP32").addAllShape(shape);
    answer(
        observer,
        ModelMetadataResponse.newBuilder()
            .setName(request.getName())
            .addVersions("1")
            .setPlatform("fake")
            .addInputs(tensor.setName("x").build())
            .addOutputs(
                request.getName().equals("widen")
                    ? tensor.setName("y").setShape(1, WIDTH).build()
                    : tensor.setName("y").build())
            .build());
  }

  @Override
  public void modelConfig(
      ModelConfigRequest request, StreamObserver<ModelConfigResponse> observer) {
    if (!config.get()) {
      observer.onError(Status.UNIMPLEMENTED.asRuntimeException());
      return;
    }
    ModelConfig.Builder told = ModelConfig.newBuilder().setName(request.getName());
    if (request.getName().equals("columns")) {
      told.putParameters("batch_sizes", ModelParameter.newBuilder().setStringValue("1,4").build());
    } else {
      told.setMaxBatchSize(MAX_BATCH);
    }
    told.getModelTransactionPolicyBuilder().setDecoupled(decoupled);
    answer(observer, ModelConfigResponse.newBuilder().setConfig(told).build());
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> observer) {
    answer(
        observer,
        ModelStatisticsResponse.newBuilder()
            .addModelStats(ModelStatistics.newBuilder().setName("double").setInferenceCount(7))
            .build());
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> observer) {
    answer(
        observer,
        RepositoryIndexResponse.newBuilder()
            .addModels(ModelIndex.newBuilder().setName("double").setVersion("1").setState("READY"))
            .addModels(
                ModelIndex.newBuilder()
                    .setName("late")
                    .setState("UNAVAILABLE")
                    .setReason("unloaded"))
            .build());
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> observer) {
    if (request.getModelName().equals("broken")) {
      observer.onError(
          Status.INTERNAL.withDescription("failed to load 'broken'").asRuntimeException());
      return;
    }
    loaded.add(request.getModelName());
    answer(observer, RepositoryModelLoadResponse.getDefaultInstance());
  }

  @Override
  public void repositoryModelUnload(
      RepositoryModelUnloadRequest request,
      StreamObserver<RepositoryModelUnloadResponse> observer) {
    loaded.remove(request.getModelName());
    answer(observer, RepositoryModelUnloadResponse.getDefaultInstance());
  }

  /** Answers, or refuses when the next call is to be refused. */
  <T> void answer(StreamObserver<T> observer, T answer) {
    StatusRuntimeException refusal = refusals.poll();
    if (refusal != null) {
      observer.onError(refusal);
      return;
    }
    observer.onNext(answer);
    observer.onCompleted();
  }

  @Override
  public StreamObserver<ModelInferRequest> modelStreamInfer(
      StreamObserver<ModelStreamInferResponse> observer) {
    ((ServerCallStreamObserver<ModelStreamInferResponse>) observer)
        .setOnCancelHandler(cancelled::incrementAndGet);
    return new StreamObserver<>() {
      @Override
      public void onNext(ModelInferRequest request) {
        arrivals.add(new Arrival(request, Long.MAX_VALUE, AUTHORIZATION.get()));
        try {
          observer.onNext(
              ModelStreamInferResponse.newBuilder().setInferResponse(answer(request)).build());
        } catch (StatusRuntimeException e) {
          observer.onNext(
              ModelStreamInferResponse.newBuilder()
                  .setErrorMessage(String.valueOf(e.getStatus().getDescription()))
                  .setInferResponse(
                      ModelInferResponse.newBuilder()
                          .setId(request.getId())
                          .putAllParameters(parameters(e)))
                  .build());
        }
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {
        observer.onCompleted();
      }
    };
  }

  /** What stands in trailers elsewhere. */
  private static Map<String, InferParameter> parameters(StatusRuntimeException e) {
    Metadata trailers = e.getTrailers();
    String about =
        trailers == null
            ? null
            : trailers.get(Metadata.Key.of("roundhouse-about", Metadata.ASCII_STRING_MARSHALLER));
    return about == null
        ? Map.of()
        : Map.of("roundhouse_about", InferParameter.newBuilder().setStringParam(about).build());
  }

  private ModelInferResponse answer(ModelInferRequest request) {
    List<ByteString> inputs = inputs(request);
    ModelInferResponse.Builder response =
        ModelInferResponse.newBuilder()
            .setModelName(request.getModelName())
            .setModelVersion("1")
            .setId(request.getId());
    switch (request.getModelName()) {
      case "double", "pair" -> {
        require(request.getInputsCount() == 1 && request.getInputs(0).getName().equals("x"), "x");
        require(request.getInputs(0).getDatatype().equals("FP32"), "FP32");
        addOutput(request, response, "y", request.getInputs(0), doubled(inputs.getFirst()));
      }
      case "widen" -> {
        InferInputTensor wide = request.getInputs(0).toBuilder().setShape(1, WIDTH).build();
        ByteString.Output out = ByteString.newOutput(4 * WIDTH);
        for (int i = 0; i < WIDTH; i++) {
          out.write(inputs.getFirst().toByteArray(), 0, 4);
        }
        addOutput(request, response, "y", wide, out.toByteString());
      }
      case "echo" -> {
        for (int i = 0; i < inputs.size(); i++) {
          InferInputTensor input = request.getInputs(i);
          addOutput(request, response, input.getName(), input, inputs.get(i));
        }
      }
      default ->
          throw Status.NOT_FOUND
              .withDescription("unknown model '" + request.getModelName() + "'")
              .asRuntimeException();
    }
    if (request.containsParameters("roundhouse_timings")) {
      response.putParameters(
          "roundhouse_total_ns", InferParameter.newBuilder().setInt64Param(5000).build());
      response.putParameters(
          "roundhouse_queue_ns", InferParameter.newBuilder().setInt64Param(2000).build());
      response.putParameters(
          "roundhouse_batch_rows", InferParameter.newBuilder().setInt64Param(3).build());
    }
    if (request.containsParameters("roundhouse_receipt")) {
      receipt().forEach(response::putParameters);
    }
    return response.build();
  }

  private static Map<String, InferParameter> receipt() {
    Map<String, InferParameter> told = new HashMap<>();
    Map.of(
            "total_ns", 5000L,
            "load_ns", 700L,
            "padding_positions", 12L,
            "ahead_1_runs", 3L,
            "ahead_1_compute_ns", 900L,
            "call_count", 40L,
            "call_1_queue_ns", 11L)
        .forEach(
            (name, value) ->
                told.put(
                    "roundhouse_receipt_" + name,
                    InferParameter.newBuilder().setInt64Param(value).build()));
    Map.of(
            "worker", "host/7",
            "ahead_1_model", "b",
            "ahead_2_model", "c",
            "call_1_model", "d",
            "call_1_end", "COMPLETED")
        .forEach(
            (name, value) ->
                told.put(
                    "roundhouse_receipt_" + name,
                    InferParameter.newBuilder().setStringParam(value).build()));
    told.put(
        "roundhouse_receipt_weights_came", InferParameter.newBuilder().setBoolParam(true).build());
    return told;
  }

  /** Adds an output in the message. */
  void addOutput(
      ModelInferRequest request,
      ModelInferResponse.Builder response,
      String name,
      InferInputTensor like,
      ByteString bytes) {
    response.addOutputs(
        InferOutputTensor.newBuilder()
            .setName(name)
            .setDatatype(like.getDatatype())
            .addAllShape(like.getShapeList()));
    response.addRawOutputContents(bytes);
  }

  /** The inputs' bytes, each of exactly the size that its shape says. */
  List<ByteString> inputs(ModelInferRequest request) {
    List<ByteString> inputs = new ArrayList<>();
    Set<String> names = new HashSet<>();
    int raw = 0;
    for (InferInputTensor input : request.getInputsList()) {
      require(names.add(input.getName()), "an input twice");
      require(!input.hasContents(), "typed contents");
      ByteString bytes = shared(input);
      if (bytes == null) {
        require(raw < request.getRawInputContentsCount(), "raw contents of every input");
        bytes = request.getRawInputContents(raw++);
      }
      DType dtype = DType.fromKserveName(input.getDatatype()).orElseThrow();
      long elements = input.getShapeList().stream().reduce(1L, Math::multiplyExact);
      require(dtype == DType.BYTES || bytes.size() == elements * dtype.byteSize(), "as many bytes");
      inputs.add(bytes);
    }
    require(raw == request.getRawInputContentsCount(), "raw contents that nobody owns");
    return inputs;
  }

  /** An input's bytes in shared memory; null when they are in the message. */
  @Nullable ByteString shared(InferInputTensor input) {
    require(input.getParametersCount() == 0, "no parameters of an input");
    return null;
  }

  static void require(boolean holds, String what) {
    if (!holds) {
      throw Status.INVALID_ARGUMENT.withDescription("required: " + what).asRuntimeException();
    }
  }

  static ByteString doubled(ByteString floats) {
    ByteBuffer in = floats.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer out = ByteBuffer.allocate(in.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    while (in.hasRemaining()) {
      out.putFloat(2 * in.getFloat());
    }
    return UnsafeByteOperations.unsafeWrap(out.flip());
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    executor.shutdown();
  }

  private final class SeeAuthorization implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      String trace = headers.get(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER));
      if (trace != null) {
        traceparents.add(trace);
      }
      String told = headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
      Context context =
          told == null ? Context.current() : Context.current().withValue(AUTHORIZATION, told);
      return io.grpc.Contexts.interceptCall(context, call, headers, next);
    }
  }
}
