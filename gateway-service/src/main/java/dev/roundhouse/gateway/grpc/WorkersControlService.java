package dev.roundhouse.gateway.grpc;

import dev.roundhouse.gateway.calls.ControlFleet;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyResponse;
import io.grpc.stub.StreamObserver;

/** The workers' control service, of all of them together. */
public final class WorkersControlService extends ControlServiceImplBase {
  private final ControlFleet workers;

  public WorkersControlService(ControlFleet workers) {
    this.workers = workers;
  }

  @Override
  public void modelControlStatus(
      ModelControlStatusRequest request, StreamObserver<ModelControlStatusResponse> call) {
    Answer.later(call, () -> workers.status(request));
  }

  @Override
  public void setModelResidency(
      SetModelResidencyRequest request, StreamObserver<SetModelResidencyResponse> call) {
    Answer.later(call, () -> workers.setResidency(request));
  }

  @Override
  public void setModelPolicy(
      SetModelPolicyRequest request, StreamObserver<SetModelPolicyResponse> call) {
    Answer.later(call, () -> workers.setPolicy(request));
  }

  @Override
  public void compactMemory(
      CompactMemoryRequest request, StreamObserver<CompactMemoryResponse> call) {
    Answer.later(call, () -> workers.compact(request));
  }
}
