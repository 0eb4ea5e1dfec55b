package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.AsyncService;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceResponse;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelConfigResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
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
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerLiveResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerMetadataResponse;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.proto.ServerReadyResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.TraceSettingRequest;
import dev.roundhouse.kserve.proto.TraceSettingResponse;
import dev.roundhouse.platform.logging.LogSettings;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.trace.Tracing;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.ModelMetadataMessage;
import dev.roundhouse.worker.transport.ModelStatisticsAnswers;
import dev.roundhouse.worker.transport.ServerIdentity;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.SharedObjects;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

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
  private final InferCalls calls;
  private final Extensions extensions;

  /** Checks of every model do not run on the event loops. */
  private final Executor looks = task -> Thread.ofVirtual().name("statistics").start(task);

  public InferenceGrpcService(
      Engine engine,
      Readiness readiness,
      InferCalls calls,
      RepositoryCalls repository,
      Extensions extensions,
      ServerIdentity server) {
    this.engine = engine;
    this.calls = calls;
    this.repository = repository;
    this.extensions = extensions;
    this.readiness = readiness;
    this.server = server;
    this.models = new ModelLookup(engine);
  }

  @Override
  public ServerServiceDefinition bindService() {
    return InferMethods.in(
        GRPCInferenceServiceGrpc.bindService(this),
        calls::infer,
        calls::stream,
        calls.inference().spans());
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
                .addAllExtensions(server.extensions())
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
  public void modelConfig(ModelConfigRequest request, StreamObserver<ModelConfigResponse> call) {
    UnaryAnswer.now(
        call,
        () ->
            ModelConfigResponse.newBuilder()
                .setConfig(extensions.configs().of(request.getName(), request.getVersion()))
                .build());
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> call) {
    UnaryAnswer.later(
        call,
        () ->
            CompletableFuture.supplyAsync(
                () -> extensions.statistics().of(request.getName(), request.getVersion()), looks));
  }

  @Override
  public void logSettings(LogSettingsRequest request, StreamObserver<LogSettingsResponse> call) {
    UnaryAnswer.now(call, () -> LogSettingsMessages.answer(extensions.logs(), request));
  }

  @Override
  public void traceSetting(TraceSettingRequest request, StreamObserver<TraceSettingResponse> call) {
    UnaryAnswer.now(
        call, () -> TraceSettingMessages.answer(extensions.tracing().settings(), request));
  }

  @Override
  public void isSameIPCNamespace(
      IsSameIPCNamespaceRequest request, StreamObserver<IsSameIPCNamespaceResponse> call) {
    UnaryAnswer.now(
        call,
        () ->
            IsSameIPCNamespaceResponse.newBuilder()
                .setSame(extensions.objects().sees(request.getName()))
                .build());
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

  @Override
  public void systemSharedMemoryStatus(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> call) {
    UnaryAnswer.now(call, () -> SharedMemoryMessages.systemStatus(extensions.regions(), request));
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> call) {
    UnaryAnswer.now(
        call,
        () -> {
          extensions
              .regions()
              .register(
                  request.getName(), request.getKey(), request.getOffset(), request.getByteSize());
          return SystemSharedMemoryRegisterResponse.getDefaultInstance();
        });
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> call) {
    UnaryAnswer.now(
        call,
        () -> {
          extensions.regions().unregister(request.getName());
          return SystemSharedMemoryUnregisterResponse.getDefaultInstance();
        });
  }

  @Override
  public void cudaSharedMemoryStatus(
      CudaSharedMemoryStatusRequest request, StreamObserver<CudaSharedMemoryStatusResponse> call) {
    UnaryAnswer.now(
        call, () -> SharedMemoryMessages.cudaStatus(extensions.regions().cuda(), request));
  }

  @Override
  public void cudaSharedMemoryRegister(
      CudaSharedMemoryRegisterRequest request,
      StreamObserver<CudaSharedMemoryRegisterResponse> call) {
    UnaryAnswer.later(
        call,
        () ->
            extensions
                .regions()
                .cuda()
                .register(
                    request.getName(),
                    request.getRawHandle().toByteArray(),
                    request.getDeviceId(),
                    request.getByteSize())
                .thenApply(done -> CudaSharedMemoryRegisterResponse.getDefaultInstance()));
  }

  @Override
  public void cudaSharedMemoryUnregister(
      CudaSharedMemoryUnregisterRequest request,
      StreamObserver<CudaSharedMemoryUnregisterResponse> call) {
    UnaryAnswer.later(
        call,
        () ->
            extensions
                .regions()
                .cuda()
                .unregister(request.getName())
                .thenApply(done -> CudaSharedMemoryUnregisterResponse.getDefaultInstance()));
  }

  /** Handlers of Triton's extensions, for all transports. */
  public record Extensions(
      ModelConfigs configs,
      ModelStatisticsAnswers statistics,
      LogSettings logs,
      Tracing tracing,
      ClientRegions regions,
      SharedObjects objects) {}
}
