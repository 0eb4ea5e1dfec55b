package dev.roundhouse.engine.device;

import java.lang.foreign.MemorySegment;

/** Host memory that the simulated device has pinned. */
final class SimulatedPin extends SimulatedHandle implements PinnedMemory {
  private final MemorySegment memory;

  SimulatedPin(SimulatedDevice device, MemorySegment memory) {
    super(device);
    this.memory = memory;
  }

  MemorySegment memory() {
    return memory;
  }

  @Override
  String describe() {
    return memory.byteSize() + " bytes of pinned memory";
  }
}
