package dev.roundhouse.engine.floor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.time.ManualClock;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HostWeightStoreTest {
  private static final int PAGE = 4096;

  private final SimulatedDevice device =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant((program, in, out) -> {}).withPinning(Pinning.OFFERED),
          new ManualClock(0));
  private HostWeightStore store = store(Long.MAX_VALUE);

  @AfterEach
  void shouldLeaveNoBytesAndNoPins() {
    store.close();
    assertThat(store.totals().heldBytes()).isZero();
    assertThat(store.totals().savedBytes()).isZero();
    assertThat(store.totals().floors()).isZero();
    assertThat(device.openHandles()).isZero();
  }

  private HostWeightStore store(long budget) {
    return new HostWeightStore(
        new FloorOptions(FloorKind.KEPT, budget, true, Optional.empty()), device);
  }

  @Test
  void shouldHoldTensorsOneAfterTheOtherWhenTheyAreKept() {
    FakeWeights weights =
        new FakeWeights("", FakeWeights.bytes(1, 3), new byte[0], FakeWeights.bytes(2, 5000));
    try (HostWeights floor = weights.floor(store, "m")) {
      assertThat(floor.count()).isEqualTo(3);
      assertThat(floor.byteSize()).isEqualTo(5003);
      assertThat(floor.isInMemory()).isTrue();
      try (Lease lease = floor.lease()) {
        weights.assertHeldBy(lease);
        assertThat(lease.tensor(2).address() - lease.tensor(0).address()).isEqualTo(64);
      }
      assertThat(floor.report())
          .isEqualTo(new FloorReport(FloorKind.KEPT, 5003, 2 * PAGE, true, false, false, false));
      assertThat(store.totals().heldBytes()).isEqualTo(2 * PAGE);
    }
    assertThat(weights.reads).hasValue(1);
    assertThat(weights.open).hasValue(0);
  }

  @Test
  void shouldAskForHugePagesWhenAFloorIsLargeEnough() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 5 << 20));
    try (HostWeights floor = weights.floor(store, "m");
        Lease lease = floor.lease()) {
      weights.assertHeldBy(lease);
      assertThat(lease.tensor(0).address() % (2 << 20)).isZero();
      assertThat(floor.report().hugePages()).isTrue();
      assertThat(store.totals().heldBytes()).isEqualTo(5 << 20);
    }
  }

  @Test
  void shouldReadNothingBeforeALeaseAndAgainAtEachWhenNothingIsKept() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 10_000));
    try (HostWeights floor = weights.floor(store, "m", FloorKind.RE_READ)) {
      assertThat(weights.reads).hasValue(0);
      for (int reads = 1; reads <= 3; reads++) {
        try (Lease lease = floor.lease();
            Lease beside = floor.lease()) {
          weights.assertHeldBy(lease);
          weights.assertHeldBy(beside);
        }
        assertThat(weights.reads).hasValue(reads);
        assertThat(floor.isInMemory()).isFalse();
      }
      assertThat(store.totals().reads()).isEqualTo(3);
      assertThat(store.totals().readBytes()).isEqualTo(30_000);
    }
  }

  @Test
  void shouldLetGoWhatWasLeasedLongestAgoWhenTheBudgetIsSpent() {
    store = store(3 * PAGE);
    FakeWeights[] weights = new FakeWeights[4];
    HostWeights[] floors = new HostWeights[4];
    for (int i = 0; i < 4; i++) {
      weights[i] = new FakeWeights("", FakeWeights.bytes(i, PAGE));
      if (i == 3) {
        floors[0].lease().close();
      }
      floors[i] = weights[i].floor(store, "m" + i);
    }
    assertThat(Arrays.stream(floors).map(HostWeights::isInMemory))
        .containsExactly(true, false, true, true);
    try (Lease again = floors[1].lease()) {
      weights[1].assertHeldBy(again);
      assertThat(weights[1].reads).hasValue(2);
      assertThat(Arrays.stream(floors).map(HostWeights::isInMemory))
          .containsExactly(true, true, false, true);
    }
    assertThat(store.totals().evictions()).isEqualTo(2);
    assertThat(store.totals().heldBytes()).isEqualTo(3 * PAGE);
    Arrays.stream(floors).forEach(HostWeights::close);
  }

  @Test
  void shouldNeverLetGoWhatIsLeasedOrCannotBeReadAgain() {
    store = store(PAGE);
    FakeWeights leased = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    FakeWeights handedOver = new FakeWeights("", FakeWeights.bytes(2, PAGE));
    FakeWeights third = new FakeWeights("", FakeWeights.bytes(3, PAGE));
    HostWeights first = leased.floor(store, "first");
    Lease lease = first.lease();
    HostWeights once = store.open("once", handedOver.once(), FloorKind.RE_READ);
    HostWeights last = third.floor(store, "last");
    assertThat(first.evict()).isFalse();
    assertThat(once.evict()).isFalse();
    once.keepAs(FloorKind.RE_READ);
    leased.assertHeldBy(lease);
    assertThat(first.isInMemory()).isTrue();
    assertThat(once.isInMemory()).isTrue();
    assertThat(store.totals().heldBytes()).isEqualTo(3 * PAGE);
    lease.close();
    assertThat(store.totals().heldBytes()).as("over the budget, so both went").isEqualTo(PAGE);
    try (Lease still = once.lease()) {
      handedOver.assertHeldBy(still);
    }
    first.close();
    once.close();
    last.close();
  }

  @Test
  void shouldPassThroughWhatIsLargerThanTheBudget() {
    store = store(PAGE);
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 3 * PAGE));
    try (HostWeights floor = weights.floor(store, "m")) {
      assertThat(weights.reads).hasValue(0);
      try (Lease lease = floor.lease()) {
        weights.assertHeldBy(lease);
      }
      assertThat(floor.isInMemory()).isFalse();
      assertThat(store.totals().heldBytes()).isZero();
    }
  }

  @Test
  void shouldFollowWhenAFloorIsToBeKeptOrNotAnyMore() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    try (HostWeights floor = weights.floor(store, "m")) {
      Lease lease = floor.lease();
      floor.keepAs(FloorKind.RE_READ);
      assertThat(floor.isInMemory()).as("leased").isTrue();
      lease.close();
      assertThat(floor.isInMemory()).isFalse();
      floor.keepAs(FloorKind.KEPT);
      floor.lease().close();
      assertThat(floor.isInMemory()).isTrue();
      assertThat(floor.evict()).isTrue();
      assertThat(floor.evict()).isTrue();
      assertThat(floor.isInMemory()).isFalse();
    }
  }

  @Test
  void shouldSayWhyAndKeepNothingWhenWeightsCannotBeRead() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE), new byte[9]);
    weights.onRead =
        () -> {
          throw new BundleException("weights.safetensors", "was cut off");
        };
    assertThatThrownBy(() -> weights.floor(store, "m"))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("was cut off");
    assertThat(store.totals().heldBytes()).isZero();
    try (HostWeights floor = weights.floor(store, "m", FloorKind.RE_READ)) {
      assertThatThrownBy(floor::lease).isInstanceOf(BundleException.class);
      assertThat(weights.open).hasValue(0);
      weights.onRead = () -> {};
      try (Lease lease = floor.lease()) {
        weights.assertHeldBy(lease);
      }
    }
  }

  @Test
  void shouldVerifyTheVeryBytesThatAreLeased() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    try (CorruptWeights corrupt = new CorruptWeights(weights)) {
      assertThatThrownBy(() -> store.open("kept", corrupt, FloorKind.KEPT))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("tensor 0 is not what was published");
      try (HostWeights floor = store.open("read again", corrupt, FloorKind.RE_READ)) {
        assertThatThrownBy(floor::lease)
            .isInstanceOf(BundleException.class)
            .hasMessageContaining("tensor 0 is not what was published");
      }
    }
    assertThat(weights.open).hasValue(0);
  }

  @Test
  void shouldPinWhatIsKeptWhenTheDeviceHasMemoryOfItsOwn() {
    store = new HostWeightStore(FloorOptions.DEFAULT, new FarDevice(device));
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 10_000));
    try (HostWeights floor = weights.floor(store, "m");
        HostWeights passing = weights.floor(store, "passing", FloorKind.RE_READ);
        Lease lease = passing.lease()) {
      weights.assertHeldBy(lease);
      assertThat(floor.report().pinned()).isTrue();
      assertThat(passing.report().pinned()).isFalse();
      assertThat(device.openHandles()).isEqualTo(1);
      assertThat(floor.evict()).isTrue();
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldStoreEqualTensorsOnceWithinAModelAndAcross() {
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    FakeWeights a = new FakeWeights("", common, FakeWeights.bytes(2, 64 << 10), common.clone());
    FakeWeights b = new FakeWeights("", FakeWeights.bytes(3, 64 << 10), common.clone());
    HostWeights first = a.floor(store, "a");
    assertThat(store.totals().heldBytes()).isEqualTo(192 << 10);
    assertThat(store.totals().savedBytes()).isEqualTo(128 << 10);
    HostWeights second = b.floor(store, "b");
    assertThat(store.totals().heldBytes()).isEqualTo(256 << 10);
    assertThat(store.totals().savedBytes()).isEqualTo(256 << 10);
    try (Lease of = second.lease()) {
      first.close();
      b.assertHeldBy(of);
    }
    HostWeights third = b.floor(store, "again");
    second.close();
    try (Lease of = third.lease()) {
      b.assertHeldBy(of);
    }
    third.close();
  }

  @Test
  void shouldKeepAPinnedFloorWholeWhileOthersReadOfIt() {
    store = new HostWeightStore(FloorOptions.DEFAULT, new FarDevice(device));
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    HostWeights first = new FakeWeights("", common, FakeWeights.bytes(2, PAGE)).floor(store, "a");
    FakeWeights b = new FakeWeights("", common);
    HostWeights second = b.floor(store, "b");
    first.close();
    assertThat(device.openHandles()).isEqualTo(1);
    assertThat(store.totals().heldBytes()).isEqualTo((128 << 10) + PAGE);
    try (Lease lease = second.lease()) {
      b.assertHeldBy(lease);
    }
    second.close();
  }

  @Test
  void shouldGiveBackAllOfAFloorButWhatOthersRead() {
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    FakeWeights a =
        new FakeWeights(
            "", FakeWeights.bytes(2, 256 << 10), common, FakeWeights.bytes(3, 512 << 10));
    FakeWeights b = new FakeWeights("", common);
    HostWeights first = a.floor(store, "a");
    HostWeights second = b.floor(store, "b");
    assertThat(store.totals().heldBytes()).isEqualTo(896 << 10);
    first.close();
    assertThat(store.totals().heldBytes()).isEqualTo(128 << 10);
    try (Lease lease = second.lease()) {
      b.assertHeldBy(lease);
    }
    second.close();
  }

  @Test
  void shouldTellTensorsApartThatLookAlikeInSamples() {
    byte[] one = new byte[1 << 20];
    byte[] other = one.clone();
    other[100_001] = 1;
    FakeWeights a = new FakeWeights("", one, other);
    FakeWeights b = new FakeWeights("", other, one);
    try (HostWeights first = a.floor(store, "a");
        HostWeights second = b.floor(store, "b");
        Lease ofFirst = first.lease();
        Lease ofSecond = second.lease()) {
      a.assertHeldBy(ofFirst);
      b.assertHeldBy(ofSecond);
    }
  }

  @Test
  void shouldKeepLeasedMemoryWhenTheFloorIsClosed() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    HostWeights floor = weights.floor(store, "m");
    Lease lease = floor.lease();
    floor.close();
    floor.close();
    weights.assertHeldBy(lease);
    assertThatThrownBy(floor::lease).hasMessageContaining("floor of model 'm' is closed");
    lease.close();
    lease.close();
    assertThatThrownBy(() -> lease.tensor(0)).hasMessageContaining("lease is closed");
  }

  @Test
  void shouldNameAmountAndFixWhenThereIsNoMemory() {
    assertThatThrownBy(() -> new Block(1L << 60, false, new HostBytes(), "the budget"))
        .isInstanceOf(FloorException.class)
        .hasMessageContaining("1152921504606846976 bytes of host memory")
        .hasMessageContaining("Cannot allocate memory")
        .hasMessageContaining("set the budget below");
  }
}
