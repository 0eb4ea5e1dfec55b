package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.RequestCheck;
import dev.roundhouse.kserve.codec.WireRequest;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.AsyncService;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelReadyResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
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
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.Requests;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.TimeUnit;

/**
 * The protocol's core calls, and those of the model repository. Called on event loops; answers to
 * ModelInfer are written by whichever thread delivers the outcome.
 */
public final class InferenceGrpcService implements BindableService, AsyncService {
  private final Engine engine;
  private final Readiness readiness;
  private final ServerIdentity server;
  private final ModelLookup models;
  private final RepositoryCalls repository;

  public InferenceGrpcService(
      Engine engine, Readiness readiness, RepositoryCalls repository, ServerIdentity server) {
    this.engine = engine;
    this.repository = repository;
    this.readiness = readiness;
    this.server = server;
    this.models = new ModelLookup(engine);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return InferMethod.in(GRPCInferenceServiceGrpc.bindService(this), this::infer);
  }

  @Override
  public void serverLive(ServerLiveRequest request, StreamObserver<ServerLiveResponse> call) {
    UnaryAnswer.now(call, () -> ServerLiveResponse.newBuilder().setLive(engine.isAlive()).build());
  }

  @Override
  public void serverReady(ServerReadyRequest request, StreamObserver<ServerReadyResponse> call) {
    UnaryAnswer.now(
        call, () -> ServerReadyResponse.newBuilder().setReady(readiness.isReady()).build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> call) {
    UnaryAnswer.now(
        call,
        () -> {
          boolean ready = models.isReady(request.getName(), request.getVersion());
          return ModelReadyResponse.newBuilder().setReady(ready).build();
        });
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> call) {
    UnaryAnswer.now(
        call,
        () ->
            ServerMetadataResponse.newBuilder()
                .setName(server.name())
                .setVersion(server.version())
                .build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> call) {
    UnaryAnswer.now(
        call,
        () ->
            ModelMetadataMessage.of(
                models.ready(request.getName(), request.getVersion()),
                models.readyVersions(request.getName()),
                server.platform()));
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> call) {
    UnaryAnswer.later(call, () -> repository.index(request));
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> call) {
    UnaryAnswer.later(call, () -> repository.load(request));
  }

  @Override
  public void repositoryModelUnload(
      RepositoryModelUnloadRequest request, StreamObserver<RepositoryModelUnloadResponse> call) {
    UnaryAnswer.later(call, () -> repository.unload(request));
  }

  private void infer(InferMessage message, StreamObserver<ModelInferResponse> observer) {
    InferCall call = new InferCall((ServerCallStreamObserver<ModelInferResponse>) observer);
    try {
      call.submit(
          engine,
          Requests.toEngine(RequestCheck.check(message), engine.nanoTime(), callNanos(), call));
    } catch (RuntimeException e) {
      UnaryAnswer.fail(observer, e);
    }
  }

  private static long callNanos() {
    Deadline deadline = Context.current().getDeadline();
    return deadline == null ? WireRequest.NO_TIMEOUT : deadline.timeRemaining(TimeUnit.NANOSECONDS);
  }

  /**
   * What the server says of itself.
   *
   * @param platform of its device, reported for every model
   */
  public record ServerIdentity(String name, String version, String platform) {}
}
