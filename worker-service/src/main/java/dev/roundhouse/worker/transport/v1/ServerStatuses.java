package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.ModelReadyState;
import dev.roundhouse.kserve.v1.proto.ModelReadyStateReason;
import dev.roundhouse.kserve.v1.proto.ModelStatus;
import dev.roundhouse.kserve.v1.proto.ModelVersionStatus;
import dev.roundhouse.kserve.v1.proto.ServerReadyState;
import dev.roundhouse.kserve.v1.proto.ServerStatus;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ModelControl.IndexLine;
import dev.roundhouse.worker.transport.ServerIdentity;
import java.util.Map;
import java.util.TreeMap;

/** What the server says of itself and its models. Thread-safe; blocks on the disk. */
final class ServerStatuses {
  private final ServerIdentity server;
  private final Readiness readiness;
  private final ModelControl control;
  private final ModelConfigs configs;
  private final long beganNanos = System.nanoTime();

  ServerStatuses(
      ServerIdentity server, Readiness readiness, ModelControl control, ModelConfigs configs) {
    this.server = server;
    this.readiness = readiness;
    this.control = control;
    this.configs = configs;
  }

  /**
   * @param model empty for all
   * @throws WireException NOT_FOUND when there is none of that name
   */
  ServerStatus of(String model) {
    Map<String, ModelStatus.Builder> models = new TreeMap<>();
    for (IndexLine line : control.index("", false)) {
      if (model.isEmpty() || model.equals(line.name())) {
        add(models.computeIfAbsent(line.name(), name -> ModelStatus.newBuilder()), line);
      }
    }
    if (!model.isEmpty() && models.isEmpty()) {
      throw new WireException(
          WireStatus.NOT_FOUND, "no status available for unknown model '" + model + "'");
    }
    ServerStatus.Builder status =
        ServerStatus.newBuilder()
            .setId(server.name())
            .setVersion(server.version())
            .setUptimeNs(System.nanoTime() - beganNanos)
            .setReadyState(ready());
    models.forEach((name, each) -> status.putModelStatus(name, each.build()));
    return status.build();
  }

  private ServerReadyState ready() {
    if (readiness.isStopping() || readiness.drainingSince() != null) {
      return ServerReadyState.SERVER_EXITING;
    }
    return readiness.isReady()
        ? ServerReadyState.SERVER_READY
        : ServerReadyState.SERVER_INITIALIZING;
  }

  private void add(ModelStatus.Builder model, IndexLine line) {
    if (line.version().isEmpty()) {
      return; // in the repository, and never loaded
    }
    ModelReadyState state = state(line.state());
    ModelVersionStatus.Builder version = ModelVersionStatus.newBuilder().setReadyState(state);
    if (!line.reason().isEmpty()) {
      version.setReadyStateReason(ModelReadyStateReason.newBuilder().setMessage(line.reason()));
    }
    model.putVersionStatus(Long.parseLong(line.version()), version.build());
    if (state == ModelReadyState.MODEL_READY && !model.hasConfig()) {
      configure(model, line.name());
    }
  }

  private void configure(ModelStatus.Builder model, String name) {
    try {
      model.setConfig(configs.of(name, ""));
    } catch (WireException goneSince) {
      model.clearConfig(); // as of any model that does not serve
    }
  }

  private static ModelReadyState state(String text) {
    return switch (text) {
      case "READY" -> ModelReadyState.MODEL_READY;
      case "LOADING" -> ModelReadyState.MODEL_LOADING;
      case "UNLOADING" -> ModelReadyState.MODEL_UNLOADING;
      case "UNAVAILABLE" -> ModelReadyState.MODEL_UNAVAILABLE;
      default -> ModelReadyState.MODEL_UNKNOWN;
    };
  }
}
