package dev.roundhouse.platform.grpc;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import org.springframework.context.event.EventListener;

/**
 * Keeps standard gRPC health, overall and for the inference service, at the application's
 * readiness.
 */
public final class GrpcHealth {
  private final HealthStatusManager statuses;

  /** Not serving until readiness says otherwise; the library's own start value is serving. */
  public GrpcHealth(HealthStatusManager statuses) {
    this.statuses = statuses;
    set(ServingStatus.NOT_SERVING);
  }

  @EventListener
  void onReadinessChanged(ReadinessChanged change) {
    set(change.ready() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  }

  private void set(ServingStatus status) {
    statuses.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, status);
    statuses.setStatus(GRPCInferenceServiceGrpc.SERVICE_NAME, status);
  }
}
