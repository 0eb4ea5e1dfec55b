package dev.roundhouse.gateway.grpc;

import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.V1Statuses;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.v1.CallStatuses;
import dev.roundhouse.platform.v1.V1Answers;
import dev.roundhouse.platform.v1.V1Regions;
import dev.roundhouse.platform.v1.V1Service;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;

/**
 * {@code nvidia.inferenceserver.GRPCService}, but for inference, which is sent on frame by frame:
 * what several workers answer together. Thread-safe.
 */
public final class V1GatewayService implements BindableService {
  private static final String SERVER = "roundhouse-gateway";

  private final GatewayReadiness readiness;
  private final FleetCalls calls;
  private final V1Statuses workers;
  private final V1Regions regions;
  private final CallStatuses statuses;

  /**
   * @param texts what callers are told
   */
  public V1GatewayService(
      GatewayReadiness readiness,
      FleetCalls calls,
      V1Statuses workers,
      V1Regions regions,
      ClientText texts) {
    this.readiness = readiness;
    this.calls = calls;
    this.workers = workers;
    this.regions = regions;
    statuses = new CallStatuses(SERVER, texts);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return GRPCServiceGrpc.bindService(new V1Service(new Answers()));
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
      if (cause instanceof WireException refusal) {
        return statuses.failure(RequestStatuses.code(refusal.status()), refusal.text());
      }
      Status status = Answer.status(cause);
      String text = status.getDescription();
      return statuses.failure(
          RequestStatuses.code(status.getCode().value()),
          text == null ? status.getCode().name() : text);
    }

    @Override
    public CompletableFuture<StatusResponse> status(String model) {
      return workers.of(model);
    }

    @Override
    public CompletableFuture<?> load(String model) {
      return calls.load(RepositoryModelLoadRequest.newBuilder().setModelName(model).build());
    }

    @Override
    public CompletableFuture<?> unload(String model) {
      return calls.unload(RepositoryModelUnloadRequest.newBuilder().setModelName(model).build());
    }

    @Override
    public CompletableFuture<RepositoryIndexResponse> index() {
      return calls.repositoryIndex(RepositoryIndexRequest.getDefaultInstance());
    }

    @Override
    public V1Regions regions() {
      return regions;
    }
  }
}
