package dev.roundhouse.gateway.grpc;

import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
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
import io.grpc.stub.StreamObserver;

/**
 * The inference service, but for inference, which is sent on frame by frame. So is, on the gRPC
 * port, what one worker can say of a model as well as another.
 */
public final class GatewayInferenceService extends GRPCInferenceServiceImplBase {
  private final GatewayReadiness readiness;
  private final FleetCalls calls;
  private final SharedRegions regions;

  public GatewayInferenceService(
      GatewayReadiness readiness, FleetCalls calls, SharedRegions regions) {
    this.readiness = readiness;
    this.calls = calls;
    this.regions = regions;
  }

  @Override
  public void serverLive(ServerLiveRequest request, StreamObserver<ServerLiveResponse> call) {
    Answer.now(call, () -> ServerLiveResponse.newBuilder().setLive(readiness.isAlive()).build());
  }

  @Override
  public void serverReady(ServerReadyRequest request, StreamObserver<ServerReadyResponse> call) {
    Answer.now(call, () -> ServerReadyResponse.newBuilder().setReady(readiness.isReady()).build());
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> call) {
    Answer.later(call, () -> calls.serverMetadata(request));
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> call) {
    Answer.later(call, () -> calls.modelReady(request));
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> call) {
    Answer.later(
        call,
        () ->
            calls.ofModel(
                request.getName(), request, GRPCInferenceServiceFutureStub::modelMetadata));
  }

  @Override
  public void modelConfig(ModelConfigRequest request, StreamObserver<ModelConfigResponse> call) {
    Answer.later(
        call,
        () ->
            calls.ofModel(request.getName(), request, GRPCInferenceServiceFutureStub::modelConfig));
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> call) {
    Answer.later(call, () -> calls.modelStatistics(request));
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> call) {
    Answer.later(call, () -> calls.repositoryIndex(request));
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> call) {
    Answer.later(call, () -> calls.load(request));
  }

  @Override
  public void repositoryModelUnload(
      RepositoryModelUnloadRequest request, StreamObserver<RepositoryModelUnloadResponse> call) {
    Answer.later(call, () -> calls.unload(request));
  }

  @Override
  public void isSameIPCNamespace(
      IsSameIPCNamespaceRequest request, StreamObserver<IsSameIPCNamespaceResponse> call) {
    Answer.later(call, () -> calls.isSameIpcNamespace(request));
  }

  @Override
  public void systemSharedMemoryStatus(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> call) {
    Answer.later(call, () -> regions.status(request));
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> call) {
    Answer.later(call, () -> regions.register(request));
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> call) {
    Answer.later(call, () -> regions.unregister(request));
  }

  @Override
  public void cudaSharedMemoryStatus(
      CudaSharedMemoryStatusRequest request, StreamObserver<CudaSharedMemoryStatusResponse> call) {
    Answer.later(
        call, () -> calls.same(request, GRPCInferenceServiceFutureStub::cudaSharedMemoryStatus));
  }

  @Override
  public void cudaSharedMemoryRegister(
      CudaSharedMemoryRegisterRequest request,
      StreamObserver<CudaSharedMemoryRegisterResponse> call) {
    Answer.later(call, () -> regions.register(request));
  }

  @Override
  public void cudaSharedMemoryUnregister(
      CudaSharedMemoryUnregisterRequest request,
      StreamObserver<CudaSharedMemoryUnregisterResponse> call) {
    Answer.later(call, () -> regions.unregister(request));
  }

  @Override
  public void logSettings(LogSettingsRequest request, StreamObserver<LogSettingsResponse> call) {
    Answer.later(call, () -> calls.same(request, GRPCInferenceServiceFutureStub::logSettings));
  }

  @Override
  public void traceSetting(TraceSettingRequest request, StreamObserver<TraceSettingResponse> call) {
    Answer.later(call, () -> calls.same(request, GRPCInferenceServiceFutureStub::traceSetting));
  }
}
