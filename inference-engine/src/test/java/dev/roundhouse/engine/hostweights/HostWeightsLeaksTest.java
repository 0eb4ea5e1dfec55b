package dev.roundhouse.engine.hostweights;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.time.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HostWeightsLeaksTest {
  private final SimulatedDevice device =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant((program, in, out) -> {}).withPinning(Pinning.OFFERED),
          new ManualClock(0));

  @Test
  void shouldLeaveNothingBehindAfterAThousandHostWeights() throws IOException {
    Path memory = Files.createTempDirectory(Sharing.SHARED_MEMORY, "host-weights-test-");
    Sharing sharing = new Sharing(memory, Sharing.DEFAULT_MODE);
    for (Optional<Sharing> how : List.of(Optional.<Sharing>empty(), Optional.of(sharing))) {
      HostWeightsOptions options = new HostWeightsOptions(HostWeightsKind.KEPT, 4 << 20, true, how);
      try (HostWeightStore store = new HostWeightStore(options, new FarDevice(device))) {
        int files = 0;
        for (int i = 0; i < 1_000; i++) {
          FakeWeights weights =
              new FakeWeights(
                  "digest" + i, FakeWeights.bytes(i, 70_000), FakeWeights.bytes(i % 3, 70_000));
          if (i == 10) {
            files = openFiles();
          }
          try (HostWeights hostWeights = weights.openIn(store, "m" + i);
              HostWeights other = weights.openIn(store, "m" + i, HostWeightsKind.RE_READ);
              Lease lease = hostWeights.lease();
              Lease ofOther = other.lease()) {
            weights.assertHeldBy(lease);
            weights.assertHeldBy(ofOther);
          }
        }
        assertThat(openFiles()).isLessThanOrEqualTo(files);
      }
      assertThat(device.openHandles()).isZero();
      try (Stream<Path> left = Files.list(memory)) {
        assertThat(left).isEmpty();
      }
    }
    Files.delete(memory);
  }

  /**
   * Host weights of ten models under a budget for three, opened, leased, evicted and closed at
   * random.
   */
  @Test
  void shouldGiveRightBytesAndCountEveryByteWhateverHappens() {
    long seed = 20261122;
    System.out.println("HostWeightsLeaksTest seed " + seed);
    Random random = new Random(seed);
    HostWeightStore store =
        new HostWeightStore(
            new HostWeightsOptions(HostWeightsKind.KEPT, 3 * 200_000, true, Optional.empty()),
            new FarDevice(device));
    byte[] common = FakeWeights.bytes(99, 70_000);
    List<FakeWeights> weights = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      weights.add(new FakeWeights("", FakeWeights.bytes(i, 130_000), common.clone()));
    }
    @Nullable HostWeights[] opened = new HostWeights[10];
    List<List<Lease>> leases = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      leases.add(new ArrayList<>());
    }
    for (int step = 0; step < 3_000; step++) {
      int i = random.nextInt(10);
      FakeWeights of = weights.get(i);
      HostWeights hostWeights = opened[i];
      if (hostWeights == null) {
        opened[i] =
            of.openIn(
                store,
                "m" + i,
                random.nextBoolean() ? HostWeightsKind.KEPT : HostWeightsKind.RE_READ);
        continue;
      }
      switch (random.nextInt(7)) {
        case 0, 1 -> leases.get(i).add(hostWeights.lease());
        case 2, 3, 4 -> {
          if (!leases.get(i).isEmpty()) {
            Lease lease = leases.get(i).removeLast();
            of.assertHeldBy(lease);
            lease.close();
          }
        }
        case 5 -> {
          hostWeights.evict();
          hostWeights.keepAs(random.nextBoolean() ? HostWeightsKind.KEPT : HostWeightsKind.RE_READ);
        }
        default -> {
          of.onRead =
              () -> {
                throw new BundleException("fake", "unreadable");
              };
          hostWeights.close();
          opened[i] = null;
          leases.get(i).forEach(of::assertHeldBy);
          leases.get(i).forEach(Lease::close);
          leases.get(i).clear();
          of.onRead = () -> {};
        }
      }
    }
    for (int i = 0; i < 10; i++) {
      leases.get(i).forEach(Lease::close);
      HostWeights hostWeights = opened[i];
      if (hostWeights != null) {
        hostWeights.close();
      }
      assertThat(weights.get(i).open).hasValue(0);
    }
    assertThat(store.totals().evictions()).isPositive();
    assertThat(store.totals().savedBytes()).isZero();
    store.close();
    assertThat(store.totals().heldBytes()).isZero();
    assertThat(store.totals().open()).isZero();
    assertThat(device.openHandles()).isZero();
  }

  private static int openFiles() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return (int) files.count();
    }
  }
}
