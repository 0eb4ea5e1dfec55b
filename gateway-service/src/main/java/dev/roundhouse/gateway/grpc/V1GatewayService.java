package dev.roundhouse.gateway.grpc;

import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.V1Regions;
import dev.roundhouse.gateway.calls.V1Statuses;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceImplBase;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelControlResponse;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.text.ClientText;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * {@code nvidia.inferenceserver.GRPCService}, but for inference, which is sent on frame by frame. A
 * call that fails is answered with its status in the message, as clients expect it. Thread-safe.
 */
public final class V1GatewayService extends GRPCServiceImplBase {
  private static final String SERVER = "roundhouse-gateway";

  private final GatewayReadiness readiness;
  private final FleetCalls calls;
  private final V1Statuses statuses;
  private final V1Regions regions;
  private final ClientText texts;
  private final AtomicLong told = new AtomicLong();

  /**
   * @param texts what callers are told
   */
  public V1GatewayService(
      GatewayReadiness readiness,
      FleetCalls calls,
      V1Statuses statuses,
      V1Regions regions,
      ClientText texts) {
    this.readiness = readiness;
    this.calls = calls;
    this.statuses = statuses;
    this.regions = regions;
    this.texts = texts;
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> call) {
    answer(
        call,
        () -> statuses.of(request.getModelName()),
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
                    .setRequestStatus(success())
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
                    done -> ModelControlResponse.newBuilder().setRequestStatus(success()).build()),
        failed -> ModelControlResponse.newBuilder().setRequestStatus(failed).build());
  }

  private CompletableFuture<?> control(ModelControlRequest request) {
    String model = request.getModelName();
    return switch (request.getType()) {
      case LOAD -> calls.load(RepositoryModelLoadRequest.newBuilder().setModelName(model).build());
      case UNLOAD ->
          calls.unload(RepositoryModelUnloadRequest.newBuilder().setModelName(model).build());
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
        () -> regions.control(request).thenApply(done -> done.setRequestStatus(success()).build()),
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
          return calls
              .repositoryIndex(RepositoryIndexRequest.getDefaultInstance())
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
    return RepositoryResponse.newBuilder().setIndex(index).setRequestStatus(success()).build();
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
    CompletableFuture<R> all = answer.exceptionally(failure -> failed.apply(failure(failure)));
    Answer.later(call, () -> all);
  }

  private RequestStatus failure(Throwable failure) {
    if (failure instanceof WireException refusal) {
      return status(RequestStatuses.code(refusal.status()), refusal.text());
    }
    Status status = Answer.status(failure);
    return status(
        RequestStatuses.code(status.getCode().value()),
        status.getDescription() == null ? status.getCode().name() : status.getDescription());
  }

  private RequestStatus success() {
    return status(RequestStatusCode.SUCCESS, "");
  }

  private RequestStatus status(RequestStatusCode code, String text) {
    return RequestStatus.newBuilder()
        .setCode(code)
        .setMsg(texts.of(text))
        .setServerId(SERVER)
        .setRequestId(told.incrementAndGet())
        .build();
  }
}
