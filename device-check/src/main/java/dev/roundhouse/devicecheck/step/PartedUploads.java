package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Uploads in parts, as the engine sends large weights, against whole ones: how fast they are, and
 * how long a small upload that comes meanwhile waits.
 *
 * @param most bytes of one upload
 */
record PartedUploads(Device device, LinkRate link, long most) {
  /** The engine's own, in the first place, and what else it might be. */
  private static final List<Parts> FORMS =
      Stream.concat(
              Stream.of(Parts.OF_THE_ENGINE),
              Stream.of(1L << 20, 2L << 20, 4L << 20, 8L << 20)
                  .flatMap(bytes -> Stream.of(2, 3, 4).map(onLink -> new Parts(bytes, onLink))))
          .distinct()
          .toList();

  private static final TensorType SMALL = TensorType.of(DType.U8, 64 << 10);
  private static final int PAIRS = 5;
  private static final int LARGES = 2;
  private static final long PAUSE_NANOS = 2_000_000;

  void measure(Findings findings) {
    if (device.uploadInParts(SMALL).map(PartedUploads::given).isEmpty()) {
      findings.notMeasured("uploads in parts", "the device takes tensors only whole");
      return;
    }
    long large = Math.min(most, 1L << 30);
    rates(Math.min(most, 64L << 20), Parts.OF_THE_ENGINE, findings);
    wait(findings, "whole", large, () -> link.wholeNanos(large));
    for (Parts parts : FORMS) {
      rates(large, parts, findings);
      wait(findings, parts.toString(), large, () -> nanos(large, parts));
    }
  }

  /** How an upload is cut: bytes of a part, and how many of those are on the link at a time. */
  private record Parts(long bytes, int onLink) {
    static final Parts OF_THE_ENGINE =
        new Parts(ResidencyOptions.DEFAULT.partBytes(), ResidencyOptions.PARTS_ON_LINK);

    @Override
    public String toString() {
      return "in parts of %d MiB, %d on the link".formatted(bytes >> 20, onLink);
    }
  }

  private long nanos(long bytes, Parts parts) {
    return link.partsNanos(bytes, parts.bytes(), parts.onLink());
  }

  private static boolean given(PartedUpload upload) {
    upload.buffer().close();
    return true;
  }

  private void rates(long bytes, Parts parts, Findings findings) {
    Pairs pairs = new Pairs();
    link.wholeNanos(bytes);
    nanos(bytes, parts);
    for (int i = 0; i < PAIRS; i++) {
      double inParts = bytes / (double) nanos(bytes, parts);
      pairs.add(inParts, bytes / (double) link.wholeNanos(bytes));
    }
    Comparison rates = pairs.compare();
    findings.figure(
        "upload of %d MiB, %s / whole".formatted(bytes >> 20, parts),
        rates.ratio(),
        "ratio",
        String.format(
            Locale.ROOT,
            "%.2f against %.2f GB/s; %d pairs from %.2f to %.2f",
            rates.ours(),
            rates.peer(),
            PAIRS,
            rates.lowestRatio(),
            rates.highestRatio()));
  }

  /** Small uploads, one every few milliseconds, while large ones go one after the other. */
  private void wait(Findings findings, String how, long large, LongSupplier upload) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment data = arena.allocate(SMALL.byteSize(), 4096);
      double alone = Repeated.within(Duration.ofMillis(300), () -> small(data)).medianNanos();
      CompletableFuture<Long> larges =
          CompletableFuture.supplyAsync(
              () -> repeat(upload), task -> Thread.ofPlatform().start(task));
      long[] waits = new long[10_000];
      int count = 0;
      while (!larges.isDone() && count < waits.length) {
        waits[count++] = small(data);
        LockSupport.parkNanos(PAUSE_NANOS);
      }
      long nanos = larges.join();
      long[] sorted = Arrays.copyOf(waits, count);
      Arrays.sort(sorted);
      findings.figure(
          "upload of 64 KiB beside one of %d MiB, %s".formatted(large >> 20, how),
          sorted[count / 2] / 1e3,
          "us",
          String.format(
              Locale.ROOT,
              "median of %d, 99th percentile %.0f, longest %.0f us; alone %.0f us; the large one"
                  + " took %.0f ms",
              count,
              sorted[(int) (0.99 * (count - 1))] / 1e3,
              sorted[count - 1] / 1e3,
              alone / 1e3,
              nanos / 1e6));
    }
  }

  /** Several, for enough small ones; the mean. */
  private static long repeat(LongSupplier upload) {
    long sum = 0;
    for (int i = 0; i < LARGES; i++) {
      sum += upload.getAsLong();
    }
    return sum / LARGES;
  }

  /** In one piece, until it has arrived. */
  private long small(MemorySegment data) {
    long start = System.nanoTime();
    try (DeviceBuffer buffer = device.upload(SMALL, data, HostMemory.COPY)) {
      buffer.awaitReady();
      return System.nanoTime() - start;
    }
  }
}
