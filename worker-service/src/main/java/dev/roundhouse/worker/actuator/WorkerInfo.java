package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.worker.transport.Transport;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Tells which ports are bound and what the device is. */
public final class WorkerInfo implements InfoContributor {
  private final Device device;
  private final List<Transport> transports;

  public WorkerInfo(Device device, List<Transport> transports) {
    this.device = device;
    this.transports = List.copyOf(transports);
  }

  @Override
  public void contribute(Info.Builder info) {
    Map<String, Integer> ports = new LinkedHashMap<>();
    transports.forEach(transport -> ports.put(transport.name(), transport.port()));
    DeviceDescription description = device.description();
    info.withDetail("ports", ports)
        .withDetail(
            "device",
            Map.of(
                "platform", description.platform(),
                "kind", description.kind(),
                "ordinal", description.ordinal(),
                "attributes", description.attributes()));
  }
}
