package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.worker.transport.Transport;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Tells which ports are bound, what the device is and how exactly it multiplies. */
public final class WorkerInfo implements InfoContributor {
  private final Device device;
  private final String numerics;
  private final List<Transport> transports;

  /**
   * @param numerics the policy and what was found, in one line
   */
  public WorkerInfo(Device device, String numerics, List<Transport> transports) {
    this.device = device;
    this.numerics = numerics;
    this.transports = List.copyOf(transports);
  }

  @Override
  public void contribute(Info.Builder info) {
    Map<String, Integer> ports = new LinkedHashMap<>();
    transports.forEach(transport -> ports.put(transport.name(), transport.port()));
    DeviceDescription description = device.description();
    info.withDetail("ports", ports)
        .withDetail("numerics", numerics)
        .withDetail(
            "device",
            Map.of(
                "platform", description.platform(),
                "kind", description.kind(),
                "ordinal", description.ordinal(),
                "attributes", description.attributes()));
  }
}
