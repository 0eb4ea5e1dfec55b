package dev.roundhouse.engine.hostweights;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.PinnedMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Page-locks host weights for a device that copies from them. Thread-safe. */
final class Pins {
  private final Device device;
  private final boolean useful;

  Pins(Device device) {
    this.device = device;
    // A device that shares the host's memory copies nothing over a link.
    useful = !device.description().hostVisible();
  }

  /** Whether {@link #pin} is worth what it costs: about a second for a gigabyte. */
  boolean areUseful() {
    return useful;
  }

  /**
   * @param pages whole pages
   * @return what is closed before the pages are given back; null when they are not pinned
   */
  @Nullable PinnedMemory pin(MemorySegment pages) {
    return useful && pages.byteSize() > 0 ? device.pin(pages).orElse(null) : null;
  }
}
