package dev.roundhouse.node.devices;

import java.util.Collection;
import java.util.Map;

/** Reads how full devices are. May block for as long as the driver takes. */
public interface MemoryReader {

  /** By device id; devices that cannot be read are left out. */
  Map<String, DeviceMemory> read(Collection<String> ids);
}
