package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.ServerIdentity;
import dev.roundhouse.worker.transport.grpc.RepositoryCalls;
import dev.roundhouse.worker.transport.shm.ClientRegions;

/** What the ways in of v1 share, made of what serves v2. Thread-safe. */
public final class V1Protocol {
  private final V1Inference inference;
  private final Statuses statuses;

  /**
   * @param texts error texts for callers
   */
  public V1Protocol(
      Inference inference, ModelLookup models, ServerIdentity server, ClientText texts) {
    this.inference = new V1Inference(inference, models);
    statuses = new Statuses(server.name(), texts);
  }

  V1Inference inference() {
    return inference;
  }

  Statuses statuses() {
    return statuses;
  }

  /** Takes calls for inference; a bean, as it is told of the worker's end. */
  public GrpcCalls calls() {
    return new GrpcCalls(inference, statuses);
  }

  /** The service over gRPC. */
  public V1GrpcService service(
      GrpcCalls calls,
      Readiness readiness,
      ServerIdentity server,
      ModelControl control,
      ModelConfigs configs,
      ClientRegions regions) {
    return new V1GrpcService(
        readiness,
        calls,
        new ServerStatuses(server, readiness, control, configs),
        new RepositoryCalls(control),
        new RegionCalls(regions),
        statuses);
  }
}
