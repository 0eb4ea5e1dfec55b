package dev.roundhouse.gateway.grpc;

import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.kserve.control.proto.GatewayControlServiceGrpc.GatewayControlServiceImplBase;
import dev.roundhouse.kserve.control.proto.GetSchedulingStatusRequest;
import dev.roundhouse.kserve.control.proto.GetSchedulingStatusResponse;
import dev.roundhouse.kserve.control.proto.RepackRequest;
import dev.roundhouse.kserve.control.proto.RepackResponse;
import dev.roundhouse.kserve.control.proto.SetModelPlacementRequest;
import dev.roundhouse.kserve.control.proto.SetModelPlacementResponse;
import dev.roundhouse.kserve.control.proto.SetSchedulingPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetSchedulingPolicyResponse;
import io.grpc.stub.StreamObserver;

/** How operators steer the gateway's scheduling. */
public final class SchedulingService extends GatewayControlServiceImplBase {
  private final SchedulingControl control;

  public SchedulingService(SchedulingControl control) {
    this.control = control;
  }

  @Override
  public void getSchedulingStatus(
      GetSchedulingStatusRequest request, StreamObserver<GetSchedulingStatusResponse> call) {
    Answer.now(call, () -> control.status());
  }

  @Override
  public void setSchedulingPolicy(
      SetSchedulingPolicyRequest request, StreamObserver<SetSchedulingPolicyResponse> call) {
    Answer.now(call, () -> control.setPolicy(request));
  }

  @Override
  public void setModelPlacement(
      SetModelPlacementRequest request, StreamObserver<SetModelPlacementResponse> call) {
    Answer.now(call, () -> control.setModel(request));
  }

  @Override
  public void repack(RepackRequest request, StreamObserver<RepackResponse> call) {
    Answer.later(call, () -> control.repack(request));
  }
}
