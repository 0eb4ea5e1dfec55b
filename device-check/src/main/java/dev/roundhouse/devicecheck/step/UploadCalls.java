package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.pjrt.PjrtDevice;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * How long the call of an upload keeps its thread: when the plugin must be done with the memory by
 * its end, and when the memory is lent until the buffer is closed, as the engine's staging is.
 */
record UploadCalls(PjrtDevice device, String how, MemorySegment source, MemorySegment target) {
  private static final List<Long> SIZES = List.of(4L << 10, 256L << 10, 16L << 20);
  private static final Duration EACH = Duration.ofMillis(300);

  void measure(Findings findings) {
    for (long bytes : SIZES) {
      if (bytes <= source.byteSize()) {
        tell(findings, bytes, times(bytes, HostMemory.COPY), times(bytes, HostMemory.ALIAS));
      }
    }
  }

  private Times times(long bytes, HostMemory use) {
    TensorType type = TensorType.of(DType.U8, bytes);
    MemorySegment data = source.asSlice(0, bytes);
    Repeated call = Repeated.within(EACH, () -> upload(type, data, use).calledNanos);
    Repeated arrival = Repeated.within(EACH, () -> upload(type, data, use).arrivedNanos);
    return new Times(call.medianNanos() / 1e3, arrival.medianNanos() / 1e3);
  }

  private Upload upload(TensorType type, MemorySegment data, HostMemory use) {
    long start = System.nanoTime();
    try (DeviceBuffer buffer = device.upload(type, data, use)) {
      long called = System.nanoTime() - start;
      buffer.read(data.byteSize() - 1, target.asSlice(0, 1));
      return new Upload(called, System.nanoTime() - start);
    }
  }

  private void tell(Findings findings, long bytes, Times copied, Times lent) {
    findings.figure(
        "call of an upload, copied / lent, %s, %d KiB".formatted(how, bytes >> 10),
        copied.call / lent.call,
        "ratio",
        String.format(
            Locale.ROOT,
            "%.1f against %.1f us; until a byte can be read back %.1f against %.1f us",
            copied.call,
            lent.call,
            copied.arrival,
            lent.arrival));
  }

  private record Upload(long calledNanos, long arrivedNanos) {}

  /** Medians, in microseconds. */
  private record Times(double call, double arrival) {}
}
