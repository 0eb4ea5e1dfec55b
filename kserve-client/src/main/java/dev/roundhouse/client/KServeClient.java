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
 * A client of one KServe V2 server over gRPC, or of several that serve the same models.
 * Thread-safe; calls of all threads share its connections, one for each server.
 *
 * <p>Calls that block may be made by virtual threads. Closing it ends the calls that are under way.
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
   * Begins a client.
   *
   * @param targets {@code host:port} each
   */
  public static KServeClientBuilder to(String... targets) {
    return new KServeClientBuilder(List.of(targets));
  }

  /**
   * Asks a model and waits for its answer. An interrupt cancels the call.
   *
   * @throws KServeException when it is not answered
   */
  public InferResult infer(InferRequest request) {
    return await(request, Answer::read);
  }

  /**
   * Asks a model. Cancelling the future, or completing it, cancels the call. The request's tensors
   * are borrowed until the future is done; after a cancellation what is written to them may still
   * be sent, but is not answered.
   *
   * @return fails with {@link KServeException}
   */
  public CompletableFuture<InferResult> inferAsync(InferRequest request) {
    return async(request, Answer::read);
  }

  /**
   * Asks a model for many rows, in chunks of which several are under way at once, and waits for all
   * of them. Chunks that fail cost their rows only. An interrupt cancels what is under way.
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

  /** Opens a stream without a deadline. To be closed. */
  public InferStream stream() {
    return InferStream.open(link, null);
  }

  /**
   * Opens a stream. To be closed.
   *
   * @param deadline of all of it
   */
  public InferStream stream(Duration deadline) {
    return InferStream.open(link, deadline);
  }

  /** Whether a server or more is there. */
  public boolean live() {
    return control.any(stub -> stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
  }

  /** Whether a server or more would serve its models. */
  public boolean ready() {
    return control.any(
        stub -> stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
  }

  /** Whether a server or more would serve the model. */
  public boolean ready(String model) {
    ModelReadyRequest request = ModelReadyRequest.newBuilder().setName(model).build();
    return control.any(stub -> stub.modelReady(request).getReady());
  }

  /** What a server says of itself. */
  public ServerInfo server() {
    var told = control.ask(stub -> stub.serverMetadata(ServerMetadataRequest.getDefaultInstance()));
    return new ServerInfo(told.getName(), told.getVersion(), List.copyOf(told.getExtensionsList()));
  }

  /** What a model takes and gives. Asks the server each time. */
  public ModelShape shape(String model) {
    return control.shape(model, "");
  }

  /** What a version of a model takes and gives. Asks the server each time. */
  public ModelShape shape(String model, String version) {
    return control.shape(model, version);
  }

  /** How a server is configured to serve a model. */
  public ModelConfig config(String model) {
    ModelConfigRequest request = ModelConfigRequest.newBuilder().setName(model).build();
    return control.ask(stub -> stub.modelConfig(request)).getConfig();
  }

  /**
   * What a server has counted.
   *
   * @param model empty for all models
   */
  public List<ModelStatistics> statistics(String model) {
    ModelStatisticsRequest request = ModelStatisticsRequest.newBuilder().setName(model).build();
    return control.ask(stub -> stub.modelStatistics(request)).getModelStatsList();
  }

  /** The models of a server's repository, those too that are not loaded. */
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
   * Has every server load a model, or load it again, and waits until each has done so.
   *
   * @param deadline for each server; a model that is compiled takes its time
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

  /** What was counted since the client was made. */
  public ClientCounters counters() {
    return link.tally.counters();
  }

  /** How many of the servers there is a connection to now. */
  public int connected() {
    return (int)
        link.targets.all().stream()
            .filter(target -> target.channel.getState(false) == ConnectivityState.READY)
            .count();
  }

  /** Ends calls that are under way with CANCELLED or UNAVAILABLE, and closes connections. */
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
