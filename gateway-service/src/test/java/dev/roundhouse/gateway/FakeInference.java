package dev.roundhouse.gateway;

import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceResponse;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelConfigResponse;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelReadyResponse;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
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
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CountDownLatch;

/** The inference service of a {@link FakeWorker}. */
final class FakeInference extends GRPCInferenceServiceImplBase {
  private final FakeWorker worker;

  FakeInference(FakeWorker worker) {
    this.worker = worker;
  }

  @Override
  public void serverReady(ServerReadyRequest request, StreamObserver<ServerReadyResponse> call) {
    FakeWorker.reply(call, ServerReadyResponse.newBuilder().setReady(worker.ready).build());
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> call) {
    RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
    worker.models.forEach(
        (model, state) ->
            index.addModels(
                ModelIndex.newBuilder().setName(model).setVersion("1").setState(state)));
    FakeWorker.reply(call, index.build());
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> call) {
    worker.answer(
        call,
        "serverMetadata",
        ServerMetadataResponse.newBuilder()
            .setName("roundhouse")
            .addExtensions("all")
            .addExtensions("only " + worker.name)
            .build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> call) {
    boolean isReady = "READY".equals(worker.models.get(request.getName()));
    worker.answer(call, "modelReady", ModelReadyResponse.newBuilder().setReady(isReady).build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> call) {
    if (worker.requireModel(call, request.getName())) {
      worker.answer(
          call,
          "modelMetadata " + request.getName(),
          ModelMetadataResponse.newBuilder()
              .setName(request.getName())
              .setPlatform(worker.name)
              .build());
    }
  }

  @Override
  public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> call) {
    if (!worker.requireModel(call, request.getModelName())) {
      return;
    }
    ServerCallStreamObserver<?> own = (ServerCallStreamObserver<?>) call;
    own.setOnCancelHandler(worker.cancelled::incrementAndGet);
    CountDownLatch until = worker.held;
    String what = "modelInfer " + request.getModelName();
    if (until == null) {
      worker.answer(call, what, inferred(request));
      return;
    }
    worker.calls.add(what);
    Thread.startVirtualThread(
        () -> {
          FakeWorker.await(until);
          if (!own.isCancelled()) {
            FakeWorker.reply(call, inferred(request));
          }
        });
  }

  private ModelInferResponse inferred(ModelInferRequest request) {
    return ModelInferResponse.newBuilder()
        .setModelName(request.getModelName())
        .setId(worker.name)
        .addAllRawOutputContents(request.getRawInputContentsList())
        .build();
  }

  @Override
  public StreamObserver<ModelInferRequest> modelStreamInfer(
      StreamObserver<ModelStreamInferResponse> call) {
    return new StreamObserver<>() {
      @Override
      public void onNext(ModelInferRequest request) {
        worker.calls.add("stream " + request.getModelName());
        call.onNext(
            ModelStreamInferResponse.newBuilder().setInferResponse(inferred(request)).build());
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {
        call.onCompleted();
      }
    };
  }

  @Override
  public void modelConfig(ModelConfigRequest request, StreamObserver<ModelConfigResponse> call) {
    if (worker.requireModel(call, request.getName())) {
      worker.answer(
          call,
          "modelConfig " + request.getName(),
          ModelConfigResponse.newBuilder()
              .setConfig(
                  worker.configs.getOrDefault(
                      request.getName(),
                      ModelConfig.newBuilder().setName(request.getName()).build()))
              .build());
    }
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> call) {
    if (!request.getName().isEmpty() && !worker.models.containsKey(request.getName())) {
      call.onError(Status.INVALID_ARGUMENT.withDescription("no stats").asRuntimeException());
      return;
    }
    ModelStatisticsResponse.Builder all = ModelStatisticsResponse.newBuilder();
    worker
        .models
        .keySet()
        .forEach(
            model ->
                all.addModelStats(
                    ModelStatistics.newBuilder()
                        .setName(model)
                        .setVersion("1")
                        .setInferenceCount(10)));
    worker.answer(call, "modelStatistics", all.build());
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> call) {
    if (worker.failure.isOk()) {
      worker.models.put(request.getModelName(), "READY");
    }
    worker.answer(
        call,
        "load " + request.getModelName(),
        RepositoryModelLoadResponse.newBuilder()
            .setModelName(request.getModelName())
            .setIsLoaded(true)
            .build());
  }

  @Override
  public void isSameIPCNamespace(
      IsSameIPCNamespaceRequest request, StreamObserver<IsSameIPCNamespaceResponse> call) {
    worker.answer(
        call,
        "isSameIPCNamespace",
        IsSameIPCNamespaceResponse.newBuilder().setSame(worker.sameNamespace).build());
  }

  @Override
  public void logSettings(LogSettingsRequest request, StreamObserver<LogSettingsResponse> call) {
    worker.answer(call, "logSettings", LogSettingsResponse.getDefaultInstance());
  }

  @Override
  public void systemSharedMemoryStatus(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> call) {
    worker.memory.status(request, call);
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> call) {
    worker.memory.register(request, call);
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> call) {
    worker.memory.unregister(request, call);
  }

  @Override
  public void cudaSharedMemoryStatus(
      CudaSharedMemoryStatusRequest request, StreamObserver<CudaSharedMemoryStatusResponse> call) {
    worker.memory.status(request, call);
  }

  @Override
  public void cudaSharedMemoryRegister(
      CudaSharedMemoryRegisterRequest request,
      StreamObserver<CudaSharedMemoryRegisterResponse> call) {
    worker.memory.register(request, call);
  }

  @Override
  public void cudaSharedMemoryUnregister(
      CudaSharedMemoryUnregisterRequest request,
      StreamObserver<CudaSharedMemoryUnregisterResponse> call) {
    worker.memory.unregister(request, call);
  }
}
