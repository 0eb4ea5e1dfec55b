package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import io.grpc.ConnectivityState;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A client of one or more KServe V2 servers with the same models, over gRPC. Thread-safe; all
 * threads share its connections, one per server.
 *
 * <p>Virtual threads may make blocking calls. Closing ends calls in progress.
 */
public final class KServeClient implements AutoCloseable {
  private static final Duration CLOSE = Duration.ofSeconds(5);

  private final ClientLink link;
  private final ControlCalls control;

  KServeClient(ClientLink link) {
    this.link = link;
    control = new ControlCalls(link);
  }

  /**
   * Starts building a client.
   *
   * @param targets {@code host:port} each
   */
  public static KServeClientBuilder to(String... targets) {
    return new KServeClientBuilder(List.of(targets));
  }

  /**
   * Sends a request and waits for the answer. An interrupt cancels the call.
   *
   * @throws KServeException when it is not answered
   */
  public InferResult infer(InferRequest request) {
    return await(request, Answer::read);
  }

  /**
   * Sends a request. Cancelling or completing the future cancels the call. The request's tensors
   * are borrowed until the future is done; after a cancellation their content may still be sent,
   * but is not answered.
   *
   * @return fails with {@link KServeException}
   */
  public CompletableFuture<InferResult> inferAsync(InferRequest request) {
    return async(request, Answer::read);
  }

  /**
   * Sends many rows to a model in concurrent chunks, and waits for all. A failed chunk costs only
   * its rows. An interrupt cancels chunks in progress.
   *
   * @throws IllegalArgumentException when the data set does not fit the model
   */
  public DatasetResult infer(Dataset dataset) throws InterruptedException {
    return new DatasetRun(dataset, this::async).run();
  }

  private <T> T await(InferRequest request, Function<Answer, T> reader) {
    AnswerWait wait = new AnswerWait();
    InferCall call = new InferCall(link, request, wait).startHere();
    try (Answer answer = wait.get()) {
      return reader.apply(answer);
    } catch (InterruptedException e) {
      String why = "the thread that waited was interrupted";
      call.cancel(why);
      wait.abandon();
      Thread.currentThread().interrupt();
      throw new KServeException(Status.Code.CANCELLED, why, e, null);
    }
  }

  private <T> CompletableFuture<T> async(InferRequest request, Function<Answer, T> reader) {
    InferFuture<T> end = new InferFuture<>(link.settings.executor(), reader);
    InferCall call = new InferCall(link, request, end).start();
    end.future.whenComplete((result, failure) -> call.cancel("the caller wants no answer"));
    return end.future;
  }

  /** Opens a stream without a deadline. Close it. */
  public InferStream stream() {
    return InferStream.open(link, null);
  }

  /**
   * Opens a stream. Close it.
   *
   * @param deadline for the whole stream
   */
  public InferStream stream(Duration deadline) {
    return InferStream.open(link, deadline);
  }

  /** Whether at least one server is live. */
  public boolean live() {
    return control.any(stub -> stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
  }

  /** Whether at least one server is ready. */
  public boolean ready() {
    return control.any(
        stub -> stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
  }

  /** Whether at least one server is ready to serve the model. */
  public boolean ready(String model) {
    ModelReadyRequest request = ModelReadyRequest.newBuilder().setName(model).build();
    return control.any(stub -> stub.modelReady(request).getReady());
  }

  /** A server's metadata. */
  public ServerInfo server() {
    var told = control.ask(stub -> stub.serverMetadata(ServerMetadataRequest.getDefaultInstance()));
    return new ServerInfo(told.getName(), told.getVersion(), List.copyOf(told.getExtensionsList()));
  }

  /** Inputs and outputs of a model. Asks the server each time. */
  public ModelShape shape(String model) {
    return control.shape(model, "");
  }

  /** Inputs and outputs of a model version. Asks the server each time. */
  public ModelShape shape(String model, String version) {
    return control.shape(model, version);
  }

  /** A server's configuration of a model. */
  public ModelConfig config(String model) {
    ModelConfigRequest request = ModelConfigRequest.newBuilder().setName(model).build();
    return control.ask(stub -> stub.modelConfig(request)).getConfig();
  }

  /**
   * A server's statistics.
   *
   * @param model empty for all models
   */
  public List<ModelStatistics> statistics(String model) {
    ModelStatisticsRequest request = ModelStatisticsRequest.newBuilder().setName(model).build();
    return control.ask(stub -> stub.modelStatistics(request)).getModelStatsList();
  }

  /** The models in a server's repository, including unloaded ones. */
  public List<ModelState> models() {
    return control
        .ask(stub -> stub.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()))
        .getModelsList()
        .stream()
        .map(
            each ->
                new ModelState(
                    each.getName(), each.getVersion(), each.getState(), each.getReason()))
        .toList();
  }

  /**
   * Has every server load or reload a model, and waits for all.
   *
   * @param deadline per server; compiling a model takes time
   */
  public void load(String model, Duration deadline) {
    var request = RepositoryModelLoadRequest.newBuilder().setModelName(model).build();
    control.tell(deadline, stub -> stub.repositoryModelLoad(request));
  }

  /** Has every server unload a model. */
  public void unload(String model, Duration deadline) {
    var request = RepositoryModelUnloadRequest.newBuilder().setModelName(model).build();
    control.tell(deadline, stub -> stub.repositoryModelUnload(request));
  }

  /** Counts since the client was made. */
  public ClientCounters counters() {
    return link.tally.counters();
  }

  /** Servers that are connected now. */
  public int connected() {
    return (int)
        link.targets.all().stream()
            .filter(target -> target.channel.getState(false) == ConnectivityState.READY)
            .count();
  }

  /** Ends calls in progress with CANCELLED or UNAVAILABLE, and closes connections. */
  @Override
  public void close() {
    boolean again = link.closed;
    link.closed = true;
    if (link.shared != null && !again) {
      link.shared.close();
    }
    link.targets.close(CLOSE.toNanos());
  }
}
