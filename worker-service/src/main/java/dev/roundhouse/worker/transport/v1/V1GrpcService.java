package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.AsyncService;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelControlResponse;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.grpc.RepositoryCalls;
import dev.roundhouse.worker.transport.grpc.UnaryAnswer;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * {@code nvidia.inferenceserver.GRPCService}. A call that fails is answered with its status in the
 * message, as clients expect it.
 */
public final class V1GrpcService implements BindableService, AsyncService {
  private final Readiness readiness;
  private final GrpcCalls calls;
  private final ServerStatuses servers;
  private final RepositoryCalls repository;
  private final RegionCalls regions;
  private final Statuses statuses;

  /** Files are looked at, and no event loop waits. */
  private final Executor looks = task -> Thread.ofVirtual().name("v1-status").start(task);

  V1GrpcService(
      Readiness readiness,
      GrpcCalls calls,
      ServerStatuses servers,
      RepositoryCalls repository,
      RegionCalls regions,
      Statuses statuses) {
    this.readiness = readiness;
    this.calls = calls;
    this.servers = servers;
    this.repository = repository;
    this.regions = regions;
    this.statuses = statuses;
  }

  @Override
  public ServerServiceDefinition bindService() {
    return InferMethods.in(GRPCServiceGrpc.bindService(this), calls);
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> call) {
    answer(
        call,
        () ->
            CompletableFuture.supplyAsync(
                () ->
                    StatusResponse.newBuilder()
                        .setServerStatus(servers.of(request.getModelName()))
                        .setRequestStatus(statuses.success())
                        .build(),
                looks),
        failed -> StatusResponse.newBuilder().setRequestStatus(failed).build());
  }

  @Override
  public void health(HealthRequest request, StreamObserver<HealthResponse> call) {
    answer(
        call,
        () ->
            CompletableFuture.completedFuture(
                HealthResponse.newBuilder()
                    .setHealth(health(request.getMode()))
                    .setRequestStatus(statuses.success())
                    .build()),
        failed -> HealthResponse.newBuilder().setRequestStatus(failed).build());
  }

  private boolean health(String mode) {
    return switch (mode) {
      case "live" -> readiness.isAlive();
      case "ready" -> readiness.isReady();
      default ->
          throw WireException.invalidArgument(
              "mode is '%s'; it may be 'live' or 'ready'".formatted(mode));
    };
  }

  @Override
  public void modelControl(ModelControlRequest request, StreamObserver<ModelControlResponse> call) {
    answer(
        call,
        () ->
            control(request)
                .thenApply(
                    done ->
                        ModelControlResponse.newBuilder()
                            .setRequestStatus(statuses.success())
                            .build()),
        failed -> ModelControlResponse.newBuilder().setRequestStatus(failed).build());
  }

  private CompletableFuture<?> control(ModelControlRequest request) {
    return switch (request.getType()) {
      case LOAD ->
          repository.load(
              RepositoryModelLoadRequest.newBuilder().setModelName(request.getModelName()).build());
      case UNLOAD ->
          repository.unload(
              RepositoryModelUnloadRequest.newBuilder()
                  .setModelName(request.getModelName())
                  .build());
      case UNRECOGNIZED ->
          throw WireException.invalidArgument(
              "type is %d; it may be 0 (UNLOAD) or 1 (LOAD)".formatted(request.getTypeValue()));
    };
  }

  @Override
  public void sharedMemoryControl(
      SharedMemoryControlRequest request, StreamObserver<SharedMemoryControlResponse> call) {
    answer(
        call,
        () ->
            regions
                .control(request)
                .thenApply(answer -> answer.setRequestStatus(statuses.success()).build()),
        failed -> SharedMemoryControlResponse.newBuilder().setRequestStatus(failed).build());
  }

  @Override
  public void repository(RepositoryRequest request, StreamObserver<RepositoryResponse> call) {
    answer(
        call,
        () -> {
          if (!request.getIndex()) {
            throw WireException.invalidArgument("the request asks for nothing; set index to true");
          }
          return repository
              .index(RepositoryIndexRequest.getDefaultInstance())
              .thenApply(this::index);
        },
        failed -> RepositoryResponse.newBuilder().setRequestStatus(failed).build());
  }

  private RepositoryResponse index(RepositoryIndexResponse found) {
    ModelRepositoryIndex.Builder index = ModelRepositoryIndex.newBuilder();
    found.getModelsList().stream()
        .map(RepositoryIndexResponse.ModelIndex::getName)
        .distinct()
        .forEach(name -> index.addModels(ModelEntry.newBuilder().setName(name)));
    return RepositoryResponse.newBuilder()
        .setIndex(index)
        .setRequestStatus(statuses.success())
        .build();
  }

  private <R> void answer(
      StreamObserver<R> call,
      Supplier<CompletableFuture<R>> asked,
      Function<RequestStatus, R> failed) {
    CompletableFuture<R> answer;
    try {
      answer = asked.get();
    } catch (RuntimeException e) {
      answer = CompletableFuture.failedFuture(e);
    }
    CompletableFuture<R> told =
        answer.exceptionally(failure -> failed.apply(statuses.of(failure, AboutRequest.UNKNOWN)));
    UnaryAnswer.later(call, () -> told);
  }
}
