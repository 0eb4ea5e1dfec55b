package dev.roundhouse.gateway.fleet;

import dev.roundhouse.kserve.codec.GatewayProtocol;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * What a worker says its models have cost and where their weights are.
 *
 * @param externallyManaged weights reach its device only when its operator asks for them
 * @param weightRoomBytes that its device has for weights; 0 when that is not known, or nothing
 *     limits it
 * @param protocolOldest of {@link GatewayProtocol}, as {@code protocolLatest}
 * @param instance another one each time it starts; empty for a worker that tells none
 * @param streamPort where it takes tensor streams; 0 where it does not
 * @param models by name
 */
public record WorkerStatus(
    boolean externallyManaged,
    long weightRoomBytes,
    int protocolOldest,
    int protocolLatest,
    String instance,
    int streamPort,
    Map<String, ModelStatus> models) {
  private static final String EXTERNALLY_MANAGED = "externally_managed";

  public static WorkerStatus of(ModelControlStatusResponse response) {
    Map<String, ModelStatus> models = HashMap.newHashMap(response.getModelsCount());
    response.getModelsList().forEach(model -> models.put(model.getName(), model));
    return new WorkerStatus(
        response.getResidencyMode().equals(EXTERNALLY_MANAGED),
        Math.max(0, response.getWeightCacheMaxBytes()),
        response.getGatewayProtocolOldest(),
        response.getGatewayProtocolLatest(),
        response.getInstance(),
        response.getStreamPort(),
        Collections.unmodifiableMap(models));
  }

  /** Why a gateway of this build must not ask it; empty when it may. */
  String foreignProtocol() {
    if (GatewayProtocol.isSpoken(protocolOldest, protocolLatest)) {
      return "";
    }
    return "it speaks versions %d to %d of the protocol with gateways, and this gateway %d to %d; upgrade the %s"
        .formatted(
            protocolOldest,
            protocolLatest,
            GatewayProtocol.OLDEST,
            GatewayProtocol.LATEST,
            protocolOldest > GatewayProtocol.LATEST ? "gateway" : "worker");
  }
}
