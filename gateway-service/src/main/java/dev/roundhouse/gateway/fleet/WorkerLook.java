package dev.roundhouse.gateway.fleet;

import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.proto.ServerReadyResponse;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The result of checking a worker.
 *
 * @param address of its gRPC port
 * @param ready whether it takes requests
 * @param models whether each is ready, by name
 * @param control what models have cost and where their weights are; empty for a server without a
 *     control service
 * @param failure why it was not asked, or is not ready though it says so; empty for none
 * @param needsOperator the failure does not mend itself: one of TLS, or of versions
 */
public record WorkerLook(
    WorkerLink link,
    InetSocketAddress address,
    boolean ready,
    Map<String, Boolean> models,
    Optional<WorkerStatus> control,
    String failure,
    boolean needsOperator) {
  private static final String READY = "READY";
  private static final int MOST_PORT = 65_535;

  /** Before the next question to one that could not be reached. */
  private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final Executor SOON =
      CompletableFuture.delayedExecutor(
          AGAIN_NANOS, TimeUnit.NANOSECONDS, Thread::startVirtualThread);

  /** Assumed load rate of weights until a worker reports one. */
  private static final double LOAD_BYTES_PER_SECOND = 8e9;

  /**
   * Asks; the future never fails. A worker that answers RESOURCE_EXHAUSTED, or more than is taken
   * of an answer, is there: that part is as it was.
   *
   * @param last how it was seen before
   */
  static CompletableFuture<WorkerLook> at(WorkerLink link, Duration timeout, WorkerLook last) {
    return OwnPause.askAgain(
        () -> ask(link, System.nanoTime() + timeout.toNanos(), last),
        look -> !look.isKnown(),
        timeout,
        System::nanoTime);
  }

  /** Asks again when the connection is lost in silence, as the network may be back in time. */
  private static CompletableFuture<WorkerLook> ask(
      WorkerLink link, long endNanos, WorkerLook last) {
    Duration timeout = Duration.ofNanos(endNanos - System.nanoTime());
    InetSocketAddress address = link.resolve();
    link.retryNow();
    CompletableFuture<Boolean> ready =
        link.ask(timeout, stub -> stub.serverReady(ServerReadyRequest.getDefaultInstance()))
            .thenApply(ServerReadyResponse::getReady)
            .exceptionally(failure -> asBefore(failure, last, last.ready));
    CompletableFuture<Map<String, Boolean>> index =
        link.ask(timeout, stub -> stub.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()))
            .thenApply(WorkerLook::states)
            .exceptionally(failure -> asBefore(failure, last, last.models));
    CompletableFuture<Optional<WorkerStatus>> control =
        link.askControl(
                timeout,
                stub -> stub.modelControlStatus(ModelControlStatusRequest.getDefaultInstance()))
            .thenApply(status -> Optional.of(WorkerStatus.of(status)))
            .exceptionally(WorkerLook::noneWhenUnimplemented)
            .exceptionally(failure -> asBefore(failure, null, last.control));
    return CompletableFuture.allOf(ready, index, control)
        .handle(
            (done, failure) -> {
              if (failure == null) {
                return CompletableFuture.completedFuture(
                    answered(link, address, ready.join(), index.join(), control.join()));
              }
              long left = endNanos - System.nanoTime();
              return WorkerLink.isSilence(failure) && left > AGAIN_NANOS
                  ? CompletableFuture.supplyAsync(() -> ask(link, endNanos, last), SOON)
                      .thenCompose(Function.identity())
                      .completeOnTimeout( // also where no thread could be had to ask
                          silent(link, failure, Optional.empty()),
                          left + AGAIN_NANOS,
                          TimeUnit.NANOSECONDS)
                  : link.tlsTrouble(failure).thenApply(tls -> silent(link, failure, tls));
            })
        .thenCompose(Function.identity());
  }

  private static WorkerLook answered(
      WorkerLink link,
      InetSocketAddress address,
      boolean ready,
      Map<String, Boolean> index,
      Optional<WorkerStatus> control) {
    link.sawInstance(control.map(WorkerStatus::instance).orElse(""));
    String foreign = control.map(WorkerStatus::foreignProtocol).orElse("");
    return new WorkerLook(
        link,
        address,
        ready && foreign.isEmpty(),
        withUnlisted(index, control),
        control,
        foreign,
        !foreign.isEmpty());
  }

  /** The state of a worker that has not been asked yet. */
  static WorkerLook none(WorkerLink link) {
    return new WorkerLook(
        link, link.worker().grpc(), false, Map.of(), Optional.empty(), "not asked yet", false);
  }

  /** The same worker, not ready for this reason. */
  public WorkerLook notReady(String why) {
    return new WorkerLook(link, address, false, models, control, why, false);
  }

  /**
   * @param seen how it was seen, when that has to be known; null when it need not
   */
  private static <T> T asBefore(Throwable failure, @Nullable WorkerLook seen, T before) {
    boolean isThere = Status.fromThrowable(failure).getCode() == Status.Code.RESOURCE_EXHAUSTED;
    if (isThere && (seen == null || seen.isKnown())) {
      return before;
    }
    throw failure instanceof CompletionException wrapped
        ? wrapped
        : new CompletionException(failure);
  }

  /** True once it has answered, until it does not. */
  boolean isKnown() {
    return failure.isEmpty();
  }

  private static Optional<WorkerStatus> noneWhenUnimplemented(Throwable failure) {
    if (Status.fromThrowable(failure).getCode() == Status.Code.UNIMPLEMENTED) {
      return Optional.empty();
    }
    throw new CompletionException(failure);
  }

  private static WorkerLook silent(WorkerLink link, Throwable failure, Optional<String> tls) {
    Status status = Status.fromThrowable(failure);
    String text = status.getDescription();
    return new WorkerLook(
        link,
        link.worker().grpc(),
        false,
        Map.of(),
        Optional.empty(),
        status.getCode() + tls.map(": "::concat).orElse(text == null ? "" : ": " + text),
        tls.isPresent());
  }

  /** A model is ready when one of its versions is. */
  private static Map<String, Boolean> states(RepositoryIndexResponse index) {
    Map<String, Boolean> states = HashMap.newHashMap(index.getModelsCount());
    for (ModelIndex line : index.getModelsList()) {
      states.merge(line.getName(), line.getState().equals(READY), Boolean::logicalOr);
    }
    return states;
  }

  /** Adds models that answer and that the index leaves out, as those that a meta calls. */
  private static Map<String, Boolean> withUnlisted(
      Map<String, Boolean> listed, Optional<WorkerStatus> control) {
    WorkerStatus status = control.orElse(null);
    if (status == null || listed.keySet().containsAll(status.models().keySet())) {
      return listed;
    }
    Map<String, Boolean> all = new HashMap<>(listed);
    status
        .models()
        .forEach(
            (name, model) -> {
              if (!status.externallyManaged() || model.getDeviceResident()) {
                all.putIfAbsent(name, true);
              }
            });
    return all;
  }

  /** For routes. */
  public WorkerView view() {
    Map<String, ModelStatus> known = statuses();
    Map<String, ModelView> views = HashMap.newHashMap(models.size());
    models.forEach((name, isReady) -> views.put(name, view(isReady, known.get(name))));
    return new WorkerView(link.name(), address, stream(), ready, views);
  }

  /** Where it takes tensor streams: what operators say, or the port that it tells. */
  private @Nullable SocketAddress stream() {
    SocketAddress said = link.worker().stream();
    int port = control.map(WorkerStatus::streamPort).orElse(0);
    if (said != null || port <= 0 || port > MOST_PORT) {
      return said;
    }
    return address.isUnresolved()
        ? InetSocketAddress.createUnresolved(address.getHostString(), port)
        : new InetSocketAddress(address.getAddress(), port);
  }

  /** What is known of its models, by name. */
  public Map<String, ModelStatus> statuses() {
    return control.map(WorkerStatus::models).orElse(Map.of());
  }

  private static ModelView view(boolean ready, @Nullable ModelStatus status) {
    return status == null
        ? new ModelView(ready, true, 0)
        : new ModelView(
            ready,
            status.getDeviceResident(),
            Math.round(status.getWeightNbytes() / LOAD_BYTES_PER_SECOND * 1e9));
  }
}
