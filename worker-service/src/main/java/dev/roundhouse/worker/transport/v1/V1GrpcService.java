package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.v1.V1Answers;
import dev.roundhouse.platform.v1.V1Regions;
import dev.roundhouse.platform.v1.V1Service;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.grpc.RepositoryCalls;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * {@code nvidia.inferenceserver.GRPCService}: inference by the engine, everything else as {@link
 * V1Service} has it. Thread-safe.
 */
public final class V1GrpcService implements BindableService {
  private final Readiness readiness;
  private final GrpcCalls calls;
  private final ServerStatuses servers;
  private final RepositoryCalls repository;
  private final V1Regions regions;
  private final Statuses statuses;

  /** Files are looked at, and no event loop waits. */
  private final Executor looks = task -> Thread.ofVirtual().name("v1-status").start(task);

  V1GrpcService(
      Readiness readiness,
      GrpcCalls calls,
      ServerStatuses servers,
      RepositoryCalls repository,
      V1Regions regions,
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
    V1Service others = new V1Service(new Answers());
    return InferMethods.in(GRPCServiceGrpc.bindService(others), calls);
  }

  private final class Answers implements V1Answers {
    @Override
    public boolean isAlive() {
      return readiness.isAlive();
    }

    @Override
    public boolean isReady() {
      return readiness.isReady();
    }

    @Override
    public RequestStatus success() {
      return statuses.success();
    }

    @Override
    public RequestStatus failure(Throwable cause) {
      return statuses.of(cause, AboutRequest.UNKNOWN);
    }

    @Override
    public CompletableFuture<StatusResponse> status(String model) {
      return CompletableFuture.supplyAsync(
          () ->
              StatusResponse.newBuilder()
                  .setServerStatus(servers.of(model))
                  .setRequestStatus(statuses.success())
                  .build(),
          looks);
    }

    @Override
    public CompletableFuture<?> load(String model) {
      return repository.load(RepositoryModelLoadRequest.newBuilder().setModelName(model).build());
    }

    @Override
    public CompletableFuture<?> unload(String model) {
      return repository.unload(
          RepositoryModelUnloadRequest.newBuilder().setModelName(model).build());
    }

    @Override
    public CompletableFuture<RepositoryIndexResponse> index() {
      return repository.index(RepositoryIndexRequest.getDefaultInstance());
    }

    @Override
    public V1Regions regions() {
      return regions;
    }
  }
}
