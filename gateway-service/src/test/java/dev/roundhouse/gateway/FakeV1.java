package dev.roundhouse.gateway;

import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceImplBase;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.kserve.v1.proto.ModelReadyState;
import dev.roundhouse.kserve.v1.proto.ModelStatus;
import dev.roundhouse.kserve.v1.proto.ModelVersionStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.ServerReadyState;
import dev.roundhouse.kserve.v1.proto.ServerStatus;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import io.grpc.stub.StreamObserver;

/** The service of v1 of a {@link FakeWorker}: it says who it is, and what it was asked. */
final class FakeV1 extends GRPCServiceImplBase {
  private final FakeWorker worker;

  FakeV1(FakeWorker worker) {
    this.worker = worker;
  }

  private RequestStatus said(RequestStatusCode code) {
    return RequestStatus.newBuilder().setCode(code).setServerId(worker.name).build();
  }

  private InferResponse answer(InferRequest request) {
    return InferResponse.newBuilder()
        .setRequestStatus(said(RequestStatusCode.SUCCESS))
        .setMetaData(
            InferResponseHeader.newBuilder()
                .setModelName(request.getModelName())
                .setModelVersion(request.getModelVersion())
                .setBatchSize(request.getMetaData().getBatchSize()))
        .addAllRawOutput(request.getRawInputList())
        .build();
  }

  @Override
  public void infer(InferRequest request, StreamObserver<InferResponse> call) {
    worker.answer(call, "v1 " + request.getModelName(), answer(request));
  }

  @Override
  public StreamObserver<InferRequest> streamInfer(StreamObserver<InferResponse> call) {
    return new StreamObserver<>() {
      @Override
      public void onNext(InferRequest request) {
        call.onNext(answer(request));
      }

      @Override
      public void onError(Throwable gone) {}

      @Override
      public void onCompleted() {
        call.onCompleted();
      }
    };
  }

  @Override
  public void status(StatusRequest request, StreamObserver<StatusResponse> call) {
    if (!request.getModelName().isEmpty() && !worker.models.containsKey(request.getModelName())) {
      FakeWorker.reply(
          call,
          StatusResponse.newBuilder().setRequestStatus(said(RequestStatusCode.NOT_FOUND)).build());
      return;
    }
    ServerStatus.Builder server =
        ServerStatus.newBuilder().setId(worker.name).setReadyState(ServerReadyState.SERVER_READY);
    worker.models.forEach(
        (name, state) -> {
          if (request.getModelName().isEmpty() || request.getModelName().equals(name)) {
            server.putModelStatus(
                name,
                ModelStatus.newBuilder()
                    .putVersionStatus(
                        1,
                        ModelVersionStatus.newBuilder()
                            .setReadyState(ModelReadyState.valueOf("MODEL_" + state))
                            .build())
                    .build());
          }
        });
    FakeWorker.reply(
        call,
        StatusResponse.newBuilder()
            .setRequestStatus(said(RequestStatusCode.SUCCESS))
            .setServerStatus(server)
            .build());
  }
}
