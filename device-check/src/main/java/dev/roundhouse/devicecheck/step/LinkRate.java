package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.PinnedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Optional;

/**
 * Bare uploads, page-locked where the device does that: what weights are measured against. The
 * memory is used again and again, so that a host's caches are as kind to it as to weights.
 */
final class LinkRate implements AutoCloseable {
  private final Device device;
  private final HostMemory use;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;
  private final Optional<PinnedMemory> pin;

  /**
   * @param most bytes of one upload
   * @param use how the engine's uploads use host memory
   */
  LinkRate(Device device, long most, HostMemory use) {
    this.device = device;
    this.use = use;
    long pages = Math.ceilDiv(most, PinnedMemory.PAGE_BYTES) * PinnedMemory.PAGE_BYTES;
    memory = arena.allocate(pages, PinnedMemory.PAGE_BYTES).fill((byte) 1);
    pin = device.pin(memory);
  }

  boolean isPageLocked() {
    return pin.isPresent();
  }

  /** Uploads in one piece until all has arrived; returns how long that took. */
  long wholeNanos(long bytes) {
    long start = System.nanoTime();
    try (DeviceBuffer buffer =
        device.upload(TensorType.of(DType.U8, bytes), memory.asSlice(0, bytes), use)) {
      buffer.awaitReady();
      return System.nanoTime() - start;
    }
  }

  /** As {@link #wholeNanos}, in parts, some of which are on the link; the device takes parts. */
  long partsNanos(long bytes, long partBytes, int mostOnLink) {
    long start = System.nanoTime();
    PartedUpload upload = device.uploadInParts(TensorType.of(DType.U8, bytes)).orElseThrow();
    ArrayDeque<Arrival> onLink = new ArrayDeque<>();
    try (DeviceBuffer buffer = upload.buffer()) {
      for (long at = 0; at < bytes; at += partBytes) {
        if (onLink.size() == mostOnLink) {
          onLink.remove().awaitReady();
        }
        onLink.add(upload.write(memory.asSlice(at, Math.min(partBytes, bytes - at))));
      }
      onLink.forEach(Arrival::awaitReady);
      buffer.awaitReady();
      return System.nanoTime() - start;
    }
  }

  @Override
  public void close() {
    pin.ifPresent(PinnedMemory::close);
    arena.close();
  }
}
