package dev.roundhouse.engine.hostweights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.hostweights.SharedRegions.Step;
import dev.roundhouse.engine.time.ManualClock;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Two stores in one process lock each other out as two processes do: locks belong to open files.
 */
class SharedRegionsTest {
  private static final int SIZE = 100_000;
  private static final SharedRegions.Watcher NOBODY = step -> {};

  private final SimulatedDevice device =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant((program, in, out) -> {}).withPinning(Pinning.OFFERED),
          new ManualClock(0));
  private final FakeWeights weights =
      new FakeWeights("abc", FakeWeights.bytes(1, SIZE), FakeWeights.bytes(2, 10));
  private Path memory = Path.of("/none");

  /** A folder of its own in real shared memory. */
  @BeforeEach
  void makeFolder() throws IOException {
    memory = Files.createTempDirectory(Sharing.SHARED_MEMORY, "host-weights-test-");
  }

  @AfterEach
  void shouldLeaveNoRegions() throws IOException {
    assertThat(regions()).isEmpty();
    Files.delete(memory);
    assertThat(device.openHandles()).isZero();
    assertThat(weights.open).hasValue(0);
  }

  private HostWeightStore store() {
    return store(device, Duration.ofMinutes(1), NOBODY);
  }

  private HostWeightStore store(Device on, Duration patience, SharedRegions.Watcher watcher) {
    Sharing sharing = new Sharing(memory, Sharing.DEFAULT_MODE);
    return new HostWeightStore(
        new HostWeightsOptions(HostWeightsKind.KEPT, Long.MAX_VALUE, true, Optional.of(sharing)),
        on,
        patience,
        Duration.ZERO,
        watcher);
  }

  private List<Path> regions() throws IOException {
    try (Stream<Path> files = Files.list(memory)) {
      return files.toList();
    }
  }

  @Test
  void shouldReadWeightsOnceWhenTwoWorkersServeTheSameModel() throws IOException {
    try (HostWeightStore one = store();
        HostWeightStore other = store();
        HostWeights first = weights.openIn(one, "a/b");
        HostWeights second = weights.openIn(other, "a/b");
        Lease ofFirst = first.lease();
        Lease ofSecond = second.lease()) {
      assertThat(weights.reads).hasValue(1);
      weights.assertHeldBy(ofFirst);
      weights.assertHeldBy(ofSecond);
      assertThat(second.report().shared()).isTrue();
      assertThat(other.totals().sharedBytes()).isEqualTo(Files.size(regions().getFirst()));
      assertThat(other.totals().reads()).isZero();
      assertThat(regions()).hasSize(1);
      assertThat(regions().getFirst().getFileName().toString())
          .matches("roundhouse-a_b-[0-9a-f]{24}");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(regions().getFirst())))
          .isEqualTo("rw-r-----");
      ofFirst.close();
      first.close();
      assertThat(regions()).as("still used").hasSize(1);
      weights.assertHeldBy(ofSecond);
    }
  }

  @Test
  void shouldKeepHostWeightsApartWhenContentOrTypesDiffer() {
    FakeWeights other = new FakeWeights("abd", FakeWeights.bytes(3, SIZE), new byte[10]);
    FakeWeights cutOtherwise = new FakeWeights("abc", FakeWeights.bytes(3, SIZE + 10));
    try (HostWeightStore store = store();
        HostWeights first = weights.openIn(store, "m");
        HostWeights second = other.openIn(store, "m");
        HostWeights third = cutOtherwise.openIn(store, "m");
        Lease ofSecond = second.lease();
        Lease ofThird = third.lease()) {
      other.assertHeldBy(ofSecond);
      cutOtherwise.assertHeldBy(ofThird);
      assertThat(first.report().shared()).isTrue();
    }
  }

  @Test
  void shouldNotShareWeightsWithoutADigest() throws IOException {
    FakeWeights undigested = new FakeWeights("", FakeWeights.bytes(1, SIZE));
    try (HostWeightStore store = store();
        HostWeights hostWeights = undigested.openIn(store, "m")) {
      assertThat(hostWeights.report().shared()).isFalse();
      assertThat(regions()).isEmpty();
    }
  }

  @Test
  void shouldLeaveNoRegionWhenTheWeightsAreBad() throws IOException {
    weights.onRead =
        () -> {
          throw new BundleException("weights.safetensors", "was cut off");
        };
    try (HostWeightStore store = store()) {
      assertThatThrownBy(() -> weights.openIn(store, "m")).isInstanceOf(BundleException.class);
      assertThat(regions()).isEmpty();
      assertThat(store.totals().heldBytes()).isZero();
    }
  }

  @Test
  void shouldMakeAnotherRegionWhenOneIsCutShortOrRemoved() throws IOException {
    try (HostWeightStore one = store();
        HostWeightStore other = store();
        HostWeights first = weights.openIn(one, "m")) {
      Path path = regions().getFirst();
      try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
        channel.truncate(5000);
      }
      try (HostWeights second = weights.openIn(other, "m");
          Lease ofSecond = second.lease()) {
        weights.assertHeldBy(ofSecond);
        assertThat(weights.reads).hasValue(2);
        try (Lease ofFirst = first.lease()) {
          weights.assertHeldBy(ofFirst);
          assertThat(weights.reads).as("joined the second").hasValue(2);
          Files.delete(path);
          weights.assertHeldBy(ofFirst);
        }
      }
    }
  }

  @Test
  void shouldTrustNoRegionWhoseHeaderIsNotOurs() throws IOException {
    Path path;
    byte[] region;
    try (HostWeightStore store = store();
        HostWeights _ = weights.openIn(store, "m")) {
      path = regions().getFirst();
      region = Files.readAllBytes(path);
    }
    for (int at : new int[] {0, 8, 16, 32, 63}) {
      byte[] changed = region.clone();
      changed[at] ^= 2;
      changed[5000] ^= 1;
      try (HostWeightStore store = store()) {
        Files.write(path, changed);
        try (HostWeights hostWeights = weights.openIn(store, "m");
            Lease lease = hostWeights.lease()) {
          weights.assertHeldBy(lease);
          assertThat(hostWeights.report().shared()).isTrue();
        }
      }
    }
  }

  @Test
  void shouldTakeOverACompleteRegionWhoseWorkersAreGone() throws IOException {
    Path path;
    byte[] region;
    try (HostWeightStore store = store();
        HostWeights _ = weights.openIn(store, "m")) {
      path = regions().getFirst();
      region = Files.readAllBytes(path);
    }
    try (HostWeightStore store = store()) {
      Files.write(path, region);
      try (HostWeights hostWeights = weights.openIn(store, "m");
          Lease lease = hostWeights.lease()) {
        weights.assertHeldBy(lease);
        assertThat(weights.reads).hasValue(1);
      }
    }
  }

  @Test
  void shouldSweepWhatNobodyUsesAndNothingElse() throws IOException {
    Path left = Files.write(memory.resolve("roundhouse-old-0123"), new byte[10]);
    Path others = Files.write(memory.resolve("rsw-old-0123"), new byte[10]);
    Path link = Files.createSymbolicLink(memory.resolve("roundhouse-link"), others);
    try (HostWeightStore one = store();
        HostWeights hostWeights = weights.openIn(one, "m");
        HostWeightStore _ = store()) {
      assertThat(left).doesNotExist();
      assertThat(others).exists();
      assertThat(regions()).hasSize(3);
      assertThat(hostWeights.report().shared()).isTrue();
    }
    Files.delete(link);
    Files.delete(others);
  }

  @Test
  void shouldKeepWeightsPrivatelyWhenALinkOrAFolderHasTheName() throws IOException {
    Path path;
    try (HostWeightStore store = store();
        HostWeights _ = weights.openIn(store, "m")) {
      path = regions().getFirst();
    }
    Files.createSymbolicLink(path, memory.resolve("victim"));
    assertPrivate();
    assertThat(memory.resolve("victim")).doesNotExist();
    Files.delete(path);
    Files.createDirectory(path);
    assertPrivate();
    Files.delete(path);
  }

  @Test
  void shouldKeepWeightsPrivatelyWhenThereIsNoRoomToShareThem() throws IOException {
    SharedRegions regions =
        new SharedRegions(
            new Sharing(memory, Sharing.DEFAULT_MODE),
            new HostBytes(),
            new Pins(device),
            Duration.ofMinutes(1),
            NOBODY);
    HostWeightsLayout huge = new HostWeightsLayout(new HugeWeights(1L << 50));
    assertThat(regions.open(new SharedRegions.Wanted("m", new byte[32], huge, true), weights::open))
        .isEmpty();
    assertThat(weights.reads).hasValue(0);
    assertThat(regions()).isEmpty();
  }

  @Test
  void shouldKeepWeightsPrivatelyWhenAnotherWorkerNeverEndsFilling() throws IOException {
    CountDownLatch locked = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    HostWeightStore slow =
        store(
            device,
            Duration.ofMinutes(1),
            step -> {
              if (step == Step.ALLOCATED) {
                locked.countDown();
                await(goOn);
              }
            });
    CompletableFuture<HostWeights> filling =
        CompletableFuture.supplyAsync(() -> weights.openIn(slow, "m"));
    await(locked);
    try (HostWeightStore hasty = store(device, Duration.ofMillis(20), NOBODY);
        HostWeights hostWeights = weights.openIn(hasty, "m");
        Lease lease = hostWeights.lease()) {
      weights.assertHeldBy(lease);
      assertThat(hostWeights.report().shared()).isFalse();
    }
    goOn.countDown();
    try (HostWeights hostWeights = filling.join()) {
      assertThat(hostWeights.report().shared()).isTrue();
      assertThat(regions()).hasSize(1);
    }
  }

  @Test
  void shouldWaitForTheWorkerThatFills() {
    CountDownLatch filling = new CountDownLatch(1);
    HostWeightStore slow =
        store(
            device,
            Duration.ofMinutes(1),
            step -> {
              if (step == Step.ALLOCATED) {
                filling.countDown();
              }
            });
    CompletableFuture<HostWeights> first =
        CompletableFuture.supplyAsync(() -> weights.openIn(slow, "m"));
    await(filling);
    try (HostWeightStore store = store();
        HostWeights hostWeights = weights.openIn(store, "m");
        HostWeights other = first.join()) {
      assertThat(hostWeights.report().shared()).isTrue();
      assertThat(other.report().shared()).isTrue();
      assertThat(weights.reads).hasValue(1);
    }
  }

  @Test
  void shouldPinTheWholeRegionWhenTheDeviceHasMemoryOfItsOwn() {
    try (HostWeightStore store = store(new FarDevice(device), Duration.ofMinutes(1), NOBODY);
        HostWeights hostWeights = weights.openIn(store, "m");
        Lease lease = hostWeights.lease()) {
      weights.assertHeldBy(lease);
      assertThat(lease.tensor(0).isReadOnly()).isTrue();
      assertThat(hostWeights.report().pinned()).isTrue();
    }
  }

  @Test
  void shouldLetGoOfARegionAndFindItAgainWhenEvicted() throws IOException {
    try (HostWeightStore one = store();
        HostWeightStore other = store();
        HostWeights first = weights.openIn(one, "m");
        HostWeights second = weights.openIn(other, "m")) {
      assertThat(first.evict()).isTrue();
      assertThat(one.totals().heldBytes()).isZero();
      assertThat(regions()).hasSize(1);
      first.lease().close();
      assertThat(weights.reads).hasValue(1);
      assertThat(first.evict() && second.evict()).isTrue();
      assertThat(regions()).isEmpty();
      first.lease().close();
      assertThat(weights.reads).hasValue(2);
    }
  }

  private void assertPrivate() {
    try (HostWeightStore store = store();
        HostWeights hostWeights = weights.openIn(store, "m");
        Lease lease = hostWeights.lease()) {
      weights.assertHeldBy(lease);
      assertThat(hostWeights.report().shared()).isFalse();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
