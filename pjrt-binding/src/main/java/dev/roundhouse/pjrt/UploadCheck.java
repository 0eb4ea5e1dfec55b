package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Checks host data before an upload: the plugin reads as many bytes as the type says, blindly. */
final class UploadCheck {
  /** Something to point at when there are no bytes to read. */
  private static final MemorySegment NOTHING = Arena.global().allocate(64, 64);

  private static final Thread ANY_OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  private UploadCheck() {}

  /**
   * @param source native memory with the data; a copy when the caller's is on the heap
   */
  record Checked(int bufferType, long byteSize, MemorySegment source) {}

  static Checked check(TensorType type, MemorySegment data, HostMemory use) {
    int bufferType = bufferType(type);
    long byteSize = byteSize(type);
    if (data.byteSize() != byteSize) {
      throw refused(type, "it has %d bytes, got %d".formatted(byteSize, data.byteSize()));
    }
    return new Checked(bufferType, byteSize, source(type, data, use));
  }

  /** As {@link #check}, of a part of which the plugin reads all, and after the call. */
  static MemorySegment part(TensorType type, MemorySegment part, long left, long byteSize) {
    if (part.byteSize() == 0 || part.byteSize() > left) {
      throw refused(
          type,
          "a part of %d bytes, of which %d of %d bytes are left"
              .formatted(part.byteSize(), left, byteSize));
    }
    return source(type, part, HostMemory.ALIAS);
  }

  /** Native memory with these bytes; a copy when they are on the heap. */
  private static MemorySegment source(TensorType type, MemorySegment data, HostMemory use) {
    if (!data.scope().isAlive()) {
      throw new DeviceException(Code.CLOSED, "upload of " + type + ": its arena is closed");
    }
    if (!data.isAccessibleBy(Thread.currentThread())) {
      throw refused(type, "its memory is confined to another thread");
    }
    if (use == HostMemory.ALIAS && !data.isAccessibleBy(ANY_OTHER_THREAD)) {
      throw refused(type, "its memory is read on the device's threads; use a shared arena");
    }
    if (data.byteSize() == 0) {
      return NOTHING;
    }
    if (data.isNative()) {
      if (data.address() == 0) {
        throw refused(type, "its memory is at address 0");
      }
      return data;
    }
    MemorySegment copy = Arena.ofAuto().allocate(data.byteSize(), 64);
    copy.copyFrom(data);
    return copy;
  }

  static int bufferType(TensorType type) {
    return ElementType.of(type.dtype())
        .orElseThrow(() -> refused(type, "no device has elements of this type"))
        .bufferType();
  }

  /** Bytes that the plugin will count, too. */
  static long byteSize(TensorType type) {
    if (!type.shape().isStatic()) {
      throw refused(type, "every extent must be fixed");
    }
    try {
      // The plugin multiplies all extents, so that one of zero does not excuse the others.
      long bytes = type.dtype().byteSize();
      for (long dim : type.shape().dims()) {
        bytes = Math.multiplyExact(bytes, Math.max(dim, 1));
      }
      return type.byteSize();
    } catch (ArithmeticException e) {
      throw refused(type, "it has more bytes than a long can count");
    }
  }

  private static DeviceException refused(TensorType type, String why) {
    return new DeviceException(Code.INVALID_ARGUMENT, "upload of " + type + ": " + why);
  }
}
