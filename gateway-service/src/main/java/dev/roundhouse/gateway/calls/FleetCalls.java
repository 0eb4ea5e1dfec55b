package dev.roundhouse.gateway.calls;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.gateway.calls.Replies.Reply;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelReadyResponse;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerMetadataResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Calls of the inference service that are not sent on as they are: all workers that take requests
 * are asked, and what they say is merged. Failures are {@link io.grpc.StatusRuntimeException}s.
 * Thread-safe.
 */
public final class FleetCalls {
  /** A load may compile for a long time; the client's deadline ends it sooner. */
  private static final Duration LOAD_TIMEOUT = Duration.ofHours(1);

  private final Workers workers;
  private final Duration timeout;
  private final Runnable refresh;

  /**
   * @param timeout of a worker, for calls that it answers at once
   * @param refresh has the workers be looked at soon
   */
  public FleetCalls(Workers workers, Duration timeout, Runnable refresh) {
    this.workers = workers;
    this.timeout = timeout;
    this.refresh = refresh;
  }

  private <Q, T> CompletableFuture<Replies<T>> all(
      Q request, BiFunction<GRPCInferenceServiceFutureStub, Q, ListenableFuture<T>> call) {
    return Replies.of(
        workers.ready(), worker -> worker.ask(timeout, stub -> call.apply(stub, request)));
  }

  /** That of the first worker, with the extensions that all of them have. */
  public CompletableFuture<ServerMetadataResponse> serverMetadata(ServerMetadataRequest request) {
    return all(request, GRPCInferenceServiceFutureStub::serverMetadata)
        .thenApply(
            replies -> {
              List<ServerMetadataResponse> answers = replies.answersOrRefusal();
              List<String> extensions = new ArrayList<>(answers.getFirst().getExtensionsList());
              answers.forEach(answer -> extensions.retainAll(answer.getExtensionsList()));
              return answers.getFirst().toBuilder()
                  .clearExtensions()
                  .addAllExtensions(extensions)
                  .build();
            });
  }

  /** True when one worker says so. */
  public CompletableFuture<ModelReadyResponse> modelReady(ModelReadyRequest request) {
    return all(request, GRPCInferenceServiceFutureStub::modelReady)
        .thenApply(
            replies ->
                ModelReadyResponse.newBuilder()
                    .setReady(
                        replies.answersOrRefusal().stream().anyMatch(ModelReadyResponse::getReady))
                    .build());
  }

  /** What one worker says of a model as well as another: those that have it are asked first. */
  public <Q, T> CompletableFuture<T> ofModel(
      String model,
      Q request,
      BiFunction<GRPCInferenceServiceFutureStub, Q, ListenableFuture<T>> call) {
    Set<WorkerLink> asked = new LinkedHashSet<>(workers.having(model));
    asked.addAll(workers.ready());
    if (asked.isEmpty()) {
      throw Status.UNAVAILABLE.withDescription("no worker is ready").asRuntimeException();
    }
    return first(asked.iterator(), stub -> call.apply(stub, request));
  }

  /** The answer of the first that has one; another may know what one does not. */
  private <T> CompletableFuture<T> first(
      Iterator<WorkerLink> asked,
      Function<GRPCInferenceServiceFutureStub, ListenableFuture<T>> call) {
    return asked
        .next()
        .ask(timeout, call)
        .exceptionallyCompose(
            failure -> {
              Status.Code code = Status.fromThrowable(failure).getCode();
              boolean isForAnother =
                  code == Status.Code.NOT_FOUND || code == Status.Code.UNAVAILABLE;
              return isForAnother && asked.hasNext()
                  ? first(asked, call)
                  : CompletableFuture.failedFuture(failure);
            });
  }

  /** Counts of all workers, added up. */
  public CompletableFuture<ModelStatisticsResponse> modelStatistics(
      ModelStatisticsRequest request) {
    return all(request, GRPCInferenceServiceFutureStub::modelStatistics)
        .thenApply(replies -> Statistics.sum(replies.answersOrRefusal()));
  }

  public CompletableFuture<RepositoryIndexResponse> repositoryIndex(
      RepositoryIndexRequest request) {
    return all(request, GRPCInferenceServiceFutureStub::repositoryIndex)
        .thenApply(replies -> RepositoryLines.merge(replies.answersOfAll()));
  }

  /** Loads with every worker; fails when one of them fails, naming it. */
  public CompletableFuture<RepositoryModelLoadResponse> load(RepositoryModelLoadRequest request) {
    return changed(worker -> worker.ask(LOAD_TIMEOUT, stub -> stub.repositoryModelLoad(request)));
  }

  /** Unloads with every worker; fails when one of them fails, naming it. */
  public CompletableFuture<RepositoryModelUnloadResponse> unload(
      RepositoryModelUnloadRequest request) {
    return changed(worker -> worker.ask(LOAD_TIMEOUT, stub -> stub.repositoryModelUnload(request)));
  }

  private <T> CompletableFuture<T> changed(Function<WorkerLink, CompletableFuture<T>> call) {
    return Replies.of(workers.ready(), call)
        .thenApply(
            replies -> {
              refresh.run();
              return sameOfAll(replies);
            });
  }

  /** The answer that all have given; the refusal of one that did not, naming it if others did. */
  private static <T> T sameOfAll(Replies<T> replies) {
    List<Reply<T>> failed = replies.all().stream().filter(reply -> !reply.isOk()).toList();
    if (failed.isEmpty()) {
      return replies.answers().getFirst();
    }
    Status status = failed.getFirst().status();
    if (failed.size() == replies.all().size()) {
      throw status.asRuntimeException();
    }
    throw status
        .withDescription(
            "worker '%s' (of %d, %d failed): %s"
                .formatted(
                    failed.getFirst().worker(),
                    replies.all().size(),
                    failed.size(),
                    status.getDescription()))
        .asRuntimeException();
  }

  /** Asks every worker for the same, such as a setting; the answer of the first. */
  public <Q, T> CompletableFuture<T> same(
      Q request, BiFunction<GRPCInferenceServiceFutureStub, Q, ListenableFuture<T>> call) {
    return all(request, call).thenApply(replies -> replies.answersOfAll().getFirst());
  }

  /** True when every worker says so. */
  public CompletableFuture<IsSameIPCNamespaceResponse> isSameIpcNamespace(
      IsSameIPCNamespaceRequest request) {
    return all(request, GRPCInferenceServiceFutureStub::isSameIPCNamespace)
        .thenApply(
            replies ->
                IsSameIPCNamespaceResponse.newBuilder()
                    .setSame(
                        replies.answersOfAll().stream()
                            .allMatch(IsSameIPCNamespaceResponse::getSame))
                    .build());
  }
}
