package dev.roundhouse.node.devices;

import java.util.Collection;
import java.util.Map;

/** Reads how full devices are. May block for as long as the driver takes. */
public interface MemoryReader {

  /** By id; without those of which nothing can be said. */
  Map<String, DeviceMemory> read(Collection<String> ids);
}
