package dev.roundhouse.worker.control;

import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyResponse;
import dev.roundhouse.worker.transport.grpc.UnaryAnswer;
import io.grpc.stub.StreamObserver;

/** {@code reactant_control.ControlService}: what is asked is done by {@link ControlCalls}. */
public final class ControlGrpcService extends ControlServiceImplBase {
  private final ControlCalls calls;

  public ControlGrpcService(ControlCalls calls) {
    this.calls = calls;
  }

  @Override
  public void modelControlStatus(
      ModelControlStatusRequest request, StreamObserver<ModelControlStatusResponse> call) {
    UnaryAnswer.later(call, calls::status);
  }

  @Override
  public void setModelResidency(
      SetModelResidencyRequest request, StreamObserver<SetModelResidencyResponse> call) {
    UnaryAnswer.later(call, () -> calls.setResidency(request));
  }

  @Override
  public void setModelPolicy(
      SetModelPolicyRequest request, StreamObserver<SetModelPolicyResponse> call) {
    UnaryAnswer.later(call, () -> calls.setPolicy(request));
  }

  @Override
  public void compactMemory(
      CompactMemoryRequest request, StreamObserver<CompactMemoryResponse> call) {
    UnaryAnswer.later(call, () -> calls.compact(request));
  }
}
