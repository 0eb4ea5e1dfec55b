package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.PinnedMemory;
import java.lang.foreign.MemorySegment;

/** Host memory that the plugin has page-locked and mapped for its device. Thread-safe. */
final class PjrtPin extends NativeHandle implements PinnedMemory {
  private final PjrtClient client;
  private final MemorySegment memory;

  /** Owns nothing until the memory is mapped. */
  PjrtPin(PjrtClient client, MemorySegment memory) {
    super(client.openHandleList());
    this.client = client;
    this.memory = memory;
  }

  @Override
  String describe() {
    return memory.byteSize() + " bytes of pinned memory";
  }

  @Override
  void free(long address) {
    client.unpin(memory, address);
    if (!memory.scope().isAlive()) {
      throw new DeviceException(
          Code.CLOSED, describe() + " were freed while they were pinned; unpin them first");
    }
  }
}
