package dev.roundhouse.engine.device;

import java.util.Map;

/**
 * What a device is.
 *
 * @param platform {@code cpu}, {@code cuda} or {@code simulated}
 * @param kind the device's own name for its model, such as {@code NVIDIA H100}
 * @param ordinal which of the platform's devices this is
 * @param hostVisible true when device memory is host memory: outputs can be read in place and
 *     {@link Device.HostMemory#ALIAS} really aliases
 * @param onHostProcessors true when runs are computed by the host's processors: a thread that spins
 *     while one is under way takes its time from it
 * @param attributes what the runtime tells of itself (plugin version, StableHLO versions), for
 *     operators
 */
public record DeviceDescription(
    String platform,
    String kind,
    int ordinal,
    boolean hostVisible,
    boolean onHostProcessors,
    Map<String, String> attributes) {
  public DeviceDescription {
    attributes = Map.copyOf(attributes);
  }
}
