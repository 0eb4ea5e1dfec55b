package dev.roundhouse.gateway;

import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import io.grpc.stub.StreamObserver;

/** The control service of a {@link FakeWorker}. */
final class FakeControl extends ControlServiceImplBase {
  private final FakeWorker worker;

  FakeControl(FakeWorker worker) {
    this.worker = worker;
  }

  @Override
  public void modelControlStatus(
      ModelControlStatusRequest request, StreamObserver<ModelControlStatusResponse> call) {
    FakeWorker.reply(
        call,
        ModelControlStatusResponse.newBuilder()
            .setWeightCacheMaxBytes(worker.weightRoom)
            .setInstance(worker.instance)
            .setStreamPort(worker.streamPort)
            .setGatewayProtocolOldest(worker.protocol)
            .setGatewayProtocolLatest(worker.protocol)
            .addAllModels(worker.statuses.values())
            .build());
  }

  @Override
  public void setModelPolicy(
      SetModelPolicyRequest request, StreamObserver<SetModelPolicyResponse> call) {
    if (worker.requireModel(call, request.getName())) {
      worker.answer(
          call, "policy " + request.getName(), SetModelPolicyResponse.getDefaultInstance());
    }
  }

  @Override
  public void compactMemory(
      CompactMemoryRequest request, StreamObserver<CompactMemoryResponse> call) {
    worker.answer(
        call,
        "compact " + request.getReloadModelsList(),
        CompactMemoryResponse.newBuilder()
            .setReloadedModels(request.getReloadModelsCount())
            .setResidentBytesAfter(100)
            .build());
  }
}
