package dev.roundhouse.engine.device;

import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.TreeMap;

/** The host memory that one device has pinned, for devices to check what they are given. */
public final class PinnedRanges {
  private static final Thread ANY_OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  /** By first address. */
  private final TreeMap<Long, MemorySegment> ranges = new TreeMap<>();

  /**
   * Takes memory in that is about to be pinned.
   *
   * @throws DeviceException CLOSED when its arena is closed; INVALID_ARGUMENT when it is not native
   *     memory in whole pages, is confined to a thread, or some of it is pinned already
   */
  public synchronized void add(MemorySegment memory) {
    if (!memory.scope().isAlive()) {
      throw new DeviceException(Code.CLOSED, describe(memory) + ": its arena is closed");
    }
    if (!memory.isNative()
        || memory.byteSize() == 0
        || memory.address() % PinnedMemory.PAGE_BYTES != 0
        || memory.byteSize() % PinnedMemory.PAGE_BYTES != 0) {
      throw refused(
          memory,
          "native memory in whole pages of " + PinnedMemory.PAGE_BYTES + " bytes is needed");
    }
    if (!memory.isAccessibleBy(ANY_OTHER_THREAD)) {
      throw refused(memory, "the device's threads use it; allocate it in a shared arena");
    }
    Map.Entry<Long, MemorySegment> below = ranges.lowerEntry(end(memory));
    if (below != null && end(below.getValue()) > memory.address()) {
      throw refused(memory, "some of it is pinned already; unpin it first");
    }
    ranges.put(memory.address(), memory);
  }

  public synchronized void remove(MemorySegment memory) {
    ranges.remove(memory.address());
  }

  /** True when all of {@code memory} lies in one pinned range. */
  synchronized boolean contains(MemorySegment memory) {
    if (!memory.isNative()) {
      return false;
    }
    Map.Entry<Long, MemorySegment> below = ranges.floorEntry(memory.address());
    return below != null && end(memory) <= end(below.getValue());
  }

  /**
   * @throws DeviceException CLOSED when pinned memory has been freed
   */
  synchronized void checkAlive() {
    for (MemorySegment memory : ranges.values()) {
      if (!memory.scope().isAlive()) {
        throw new DeviceException(
            Code.CLOSED, describe(memory) + " was freed while it was pinned; unpin it first");
      }
    }
  }

  private static long end(MemorySegment memory) {
    return memory.address() + memory.byteSize();
  }

  private static DeviceException refused(MemorySegment memory, String why) {
    return new DeviceException(Code.INVALID_ARGUMENT, describe(memory) + ": " + why);
  }

  private static String describe(MemorySegment memory) {
    return "pinning " + memory.byteSize() + " bytes";
  }
}
