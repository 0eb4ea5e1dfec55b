package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.AxisOrder;
import dev.roundhouse.bundle.weights.WeightsFile;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.time.ManualClock;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Prints what it costs to make host weights, as a ratio to copying the same bytes in memory that
 * was touched before. The file is in the page cache. To be run by hand: its one argument is the
 * size of the weights in MiB.
 */
final class HostWeightsBuildBench {
  private static final int ROUNDS = 9;
  private static final int TENSORS = 64;

  private HostWeightsBuildBench() {}

  private interface Sample {
    void run() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    int size = Integer.parseInt(args[0]) << 20;
    Path file = Files.createTempFile("host-weights", ".safetensors");
    try (Arena arena = Arena.ofShared()) {
      String sha256 = write(file, size);
      MemorySegment from = arena.allocate(size, 4096).fill((byte) 1);
      MemorySegment to = arena.allocate(size, 4096).fill((byte) 2);
      double copy = print("copy", size, 0, () -> MemorySegment.copy(from, 0, to, 0, size));
      print("compare", size, copy, () -> from.mismatch(to)); // equal since they were copied
      try (WeightsFile open = WeightsFile.open(file, AxisOrder.ROW_MAJOR, Optional.empty())) {
        print("read, memory touched before", size, copy, () -> readAll(open, to));
      }
      print("sha256", size, copy, () -> digest().update(to.asByteBuffer()));
      Optional<String> none = Optional.empty();
      print(
          "host weights, pages of 4 KiB", size, copy, () -> openAndLease(file, none, false, none));
      print("host weights, huge pages", size, copy, () -> openAndLease(file, none, true, none));
      print(
          "host weights, huge pages, digest",
          size,
          copy,
          () -> openAndLease(file, Optional.of(sha256), true, none));
      print(
          "host weights, shared, digest",
          size,
          copy,
          () -> openAndLease(file, Optional.of(sha256), true, Optional.of("shared")));
      print("format 2.0, private", size, copy, () -> reversed(file, Optional.empty()));
      Path kept = Files.createTempDirectory("digests");
      try {
        Optional<Sharing> sharing = sharing(kept);
        print("format 2.0, shared, digest kept", size, copy, () -> reversed(file, sharing));
        print(
            "format 2.0, shared, first load",
            size,
            copy,
            () -> {
              deleteFiles(kept);
              reversed(file, sharing);
            });
      } finally {
        deleteFiles(kept);
        Files.delete(kept);
      }
      printLeases(file, Optional.empty(), size, copy, "lease, read again");
      printLeases(file, Optional.of(sha256), size, copy, "lease, read again, digest");
    } finally {
      Files.delete(file);
    }
  }

  private static HostWeightStore store(boolean hugePages, Optional<String> shared) {
    Optional<Sharing> sharing =
        shared.map(_ -> new Sharing(Sharing.SHARED_MEMORY, Sharing.DEFAULT_MODE));
    return new HostWeightStore(
        new HostWeightsOptions(HostWeightsKind.KEPT, Long.MAX_VALUE, hugePages, sharing), device());
  }

  private static void openAndLease(
      Path file, Optional<String> sha256, boolean hugePages, Optional<String> shared) {
    try (HostWeightStore store = store(hugePages, shared);
        WeightsFile open = WeightsFile.open(file, AxisOrder.ROW_MAJOR, sha256);
        HostWeights hostWeights = store.open("bench", open);
        Lease lease = hostWeights.lease()) {
      lease.tensor(0);
    }
  }

  private static Optional<Sharing> sharing(Path digests) {
    return Optional.of(
        new Sharing(Sharing.SHARED_MEMORY, Sharing.DEFAULT_MODE, Optional.of(digests)));
  }

  private static void deleteFiles(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
  }

  private static void reversed(Path file, Optional<Sharing> sharing) {
    HostWeightsOptions options =
        new HostWeightsOptions(HostWeightsKind.KEPT, Long.MAX_VALUE, true, sharing);
    try (HostWeightStore store =
            new HostWeightStore(options, device(), Duration.ofMinutes(1), Duration.ZERO, _ -> {});
        WeightsFile open = WeightsFile.open(file, AxisOrder.REVERSED, Optional.empty());
        HostWeights hostWeights = store.open("bench", open);
        Lease lease = hostWeights.lease()) {
      lease.tensor(0);
    }
  }

  private static SimulatedDevice device() {
    return new SimulatedDevice(
        SimulatedDeviceOptions.instant((program, in, out) -> {}), new ManualClock(0));
  }

  private static void printLeases(
      Path file, Optional<String> sha256, int size, double copy, String what) throws Exception {
    try (HostWeightStore store = store(true, Optional.empty());
        WeightsFile open = WeightsFile.open(file, AxisOrder.ROW_MAJOR, sha256);
        HostWeights hostWeights = store.open("bench", open, HostWeightsKind.RE_READ)) {
      print(what, size, copy, () -> hostWeights.lease().close());
    }
  }

  private static void readAll(WeightsFile file, MemorySegment to) {
    long at = 0;
    for (int i = 0; i < TENSORS; i++) {
      long size = file.arguments().get(i).type().byteSize();
      file.copyTo(i, to.asSlice(at, size));
      at += size;
    }
  }

  private static double print(String what, int size, double copy, Sample sample) throws Exception {
    double[] seconds = new double[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      long start = System.nanoTime();
      sample.run();
      seconds[i] = (System.nanoTime() - start) / 1e9;
    }
    Arrays.sort(seconds);
    double median = seconds[ROUNDS / 2];
    System.out.printf(
        "%-32s %7.2f ms %6.2f GB/s %5.2f x copy%n",
        what, median * 1e3, size / median / 1e9, copy == 0 ? 1 : median / copy);
    return median;
  }

  private static MessageDigest digest() throws Exception {
    return MessageDigest.getInstance("SHA-256");
  }

  private static String write(Path path, int size) throws Exception {
    int each = size / TENSORS;
    StringBuilder header = new StringBuilder("{");
    StringBuilder order = new StringBuilder();
    for (int i = 0; i < TENSORS; i++) {
      header.append(
          "\"w%d\":{\"dtype\":\"F32\",\"shape\":[%d,1024],\"data_offsets\":[%d,%d]},"
              .formatted(i, each / 4096, (long) i * each, (i + 1L) * each));
      order.append(i == 0 ? "" : ",").append("\\\"w%d\\\"".formatted(i));
    }
    header.append("\"__metadata__\":{\"argument_order\":\"[%s]\"}}".formatted(order));
    byte[] text = header.toString().getBytes(StandardCharsets.UTF_8);
    byte[] data = new byte[each * TENSORS];
    new Random(1).nextBytes(data);
    MessageDigest digest = digest();
    ByteBuffer length =
        ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(text.length).flip();
    digest.update(length.duplicate());
    digest.update(text);
    digest.update(data);
    try (var out = Files.newOutputStream(path)) {
      out.write(length.array());
      out.write(text);
      out.write(data);
    } catch (IOException e) {
      Files.deleteIfExists(path);
      throw e;
    }
    return HexFormat.of().formatHex(digest.digest());
  }
}
