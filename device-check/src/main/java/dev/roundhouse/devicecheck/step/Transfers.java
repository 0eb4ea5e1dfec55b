package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.pjrt.PjrtDevice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * Rates between host and device. An upload counts as done when a byte of it can be read back, so
 * small sizes hold one round trip too.
 */
public final class Transfers implements Step {
  private static final long SMALLEST = 64 << 10;
  private static final long LARGEST = 1L << 30;
  private static final int FACTOR = 4;
  private static final Duration PER_SIZE = Duration.ofMillis(500);

  @Override
  public String name() {
    return "transfers";
  }

  @Override
  public String about() {
    return "host->device and device->host rates, 64 KiB to 1 GiB";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(60);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws IOException {
    try (PjrtDevice device = context.openDevice();
        Arena arena = Arena.ofShared()) {
      long room = HostRoom.bytes() / 8;
      long onDevice = device.memory().limit().orElse(Long.MAX_VALUE) / 4;
      long most = Math.min(LARGEST, Math.min(room, onDevice)) / PinnedMemory.PAGE_BYTES;
      most *= PinnedMemory.PAGE_BYTES;
      MemorySegment source = arena.allocate(most, PinnedMemory.PAGE_BYTES).fill((byte) 1);
      MemorySegment target = arena.allocate(most, PinnedMemory.PAGE_BYTES).fill((byte) 2);
      measureAll(device, "pageable", source, target, findings);
      new UploadCalls(device, "pageable", source, target).measure(findings);
      target.fill((byte) 2);
      try (Pins pins = Pins.of(device, source, target)) {
        if (pins.complete()) {
          measureAll(device, "DMA-mapped", source, target, findings);
          new UploadCalls(device, "DMA-mapped", source, target).measure(findings);
        } else {
          findings.notMeasured(
              "host->device and device->host, DMA-mapped", "the device does not map host memory");
        }
      }
    }
  }

  private static void measureAll(
      PjrtDevice device,
      String how,
      MemorySegment source,
      MemorySegment target,
      Findings findings) {
    long most = source.byteSize();
    for (long bytes = SMALLEST; bytes <= LARGEST; bytes *= FACTOR) {
      if (bytes > most) {
        findings.notMeasured(
            how + ", " + size(bytes),
            "more than a safe part of what memory is free (" + most + " B)");
      } else {
        measure(device, how, source.asSlice(0, bytes), target.asSlice(0, bytes), findings);
      }
    }
  }

  private static void measure(
      PjrtDevice device,
      String how,
      MemorySegment source,
      MemorySegment target,
      Findings findings) {
    long bytes = source.byteSize();
    TensorType type = TensorType.of(DType.U8, bytes);
    Repeated upload = Repeated.within(PER_SIZE, () -> upload(device, type, source, target));
    tell(findings, "host->device, " + how + ", ", bytes, upload);
    try (DeviceBuffer buffer = device.upload(type, source, HostMemory.COPY)) {
      Repeated read = Repeated.within(PER_SIZE, () -> buffer.read(0, target));
      tell(findings, "device->host, " + how + ", ", bytes, read);
    }
    if (source.mismatch(target) >= 0) {
      findings.fail("device->host, " + how + ", " + size(bytes), "read other bytes than were sent");
    }
  }

  /** Both ends of a copy, mapped for the device as far as it does that. */
  private record Pins(Optional<PinnedMemory> source, Optional<PinnedMemory> target)
      implements AutoCloseable {
    static Pins of(PjrtDevice device, MemorySegment source, MemorySegment target) {
      Optional<PinnedMemory> first = device.pin(source);
      return new Pins(first, first.isEmpty() ? first : device.pin(target));
    }

    boolean complete() {
      return source.isPresent() && target.isPresent();
    }

    @Override
    public void close() {
      source.ifPresent(PinnedMemory::close);
      target.ifPresent(PinnedMemory::close);
    }
  }

  private static void upload(
      PjrtDevice device, TensorType type, MemorySegment source, MemorySegment target) {
    try (DeviceBuffer buffer = device.upload(type, source, HostMemory.COPY)) {
      buffer.read(source.byteSize() - 1, target.asSlice(0, 1));
    }
  }

  private static void tell(Findings findings, String what, long bytes, Repeated times) {
    findings.figure(
        what + size(bytes),
        bytes / times.medianNanos(),
        "GB/s",
        String.format(
            Locale.ROOT,
            "median of %d; %.1f us, fastest %.1f us",
            times.count(),
            times.medianNanos() / 1e3,
            times.leastNanos() / 1e3));
  }

  private static String size(long bytes) {
    return bytes < 1 << 20
        ? (bytes >> 10) + " KiB"
        : bytes < 1 << 30 ? (bytes >> 20) + " MiB" : (bytes >> 30) + " GiB";
  }
}
