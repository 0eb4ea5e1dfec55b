package dev.roundhouse.node.wiring;

import dev.roundhouse.node.config.DeviceProperties;
import dev.roundhouse.node.devices.DeviceSource;
import dev.roundhouse.node.devices.MemoryReader;
import dev.roundhouse.node.devices.NvidiaSmi;
import dev.roundhouse.node.devices.Nvml;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** How this machine's devices are read: by NVML, or else by nvidia-smi. */
final class DeviceReaders implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Optional<Nvml> nvml;
  private final NvidiaSmi smi;

  DeviceReaders(DeviceProperties settings) {
    nvml = Nvml.open(settings.nvmlLibrary());
    smi = new NvidiaSmi(settings.nvidiaSmi(), PATIENCE);
  }

  /**
   * @param last asked when no other source knows a device
   */
  List<DeviceSource> sources(DeviceSource last) {
    List<DeviceSource> sources = new ArrayList<>(nvml.stream().toList());
    sources.add(smi);
    sources.add(last);
    return sources;
  }

  MemoryReader memory() {
    return nvml.<MemoryReader>map(library -> library).orElse(smi);
  }

  @Override
  public void close() {
    nvml.ifPresent(Nvml::close);
  }
}
