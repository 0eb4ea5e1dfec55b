package dev.roundhouse.engine.hostweights;

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
    assertThat(store.totals().open()).isZero();
    assertThat(device.openHandles()).isZero();
  }

  private HostWeightStore store(long budget) {
    return new HostWeightStore(
        new HostWeightsOptions(HostWeightsKind.KEPT, budget, true, Optional.empty()), device);
  }

  @Test
  void shouldHoldTensorsOneAfterTheOtherWhenTheyAreKept() {
    FakeWeights weights =
        new FakeWeights("", FakeWeights.bytes(1, 3), new byte[0], FakeWeights.bytes(2, 5000));
    try (HostWeights hostWeights = weights.openIn(store, "m")) {
      assertThat(hostWeights.count()).isEqualTo(3);
      assertThat(hostWeights.byteSize()).isEqualTo(5003);
      assertThat(hostWeights.isInMemory()).isTrue();
      try (Lease lease = hostWeights.lease()) {
        weights.assertHeldBy(lease);
        assertThat(lease.tensor(2).address() - lease.tensor(0).address()).isEqualTo(64);
      }
      assertThat(hostWeights.report())
          .isEqualTo(
              new HostWeightsReport(
                  HostWeightsKind.KEPT, 5003, 2 * PAGE, true, false, false, false));
      assertThat(store.totals().heldBytes()).isEqualTo(2 * PAGE);
    }
    assertThat(weights.reads).hasValue(1);
    assertThat(weights.open).hasValue(0);
  }

  @Test
  void shouldAskForHugePagesWhenHostWeightsAreLargeEnough() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 5 << 20));
    try (HostWeights hostWeights = weights.openIn(store, "m");
        Lease lease = hostWeights.lease()) {
      weights.assertHeldBy(lease);
      assertThat(lease.tensor(0).address() % (2 << 20)).isZero();
      assertThat(hostWeights.report().hugePages()).isTrue();
      assertThat(store.totals().heldBytes()).isEqualTo(5 << 20);
    }
  }

  @Test
  void shouldReadNothingBeforeALeaseAndAgainAtEachWhenNothingIsKept() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 10_000));
    try (HostWeights hostWeights = weights.openIn(store, "m", HostWeightsKind.RE_READ)) {
      assertThat(weights.reads).hasValue(0);
      for (int reads = 1; reads <= 3; reads++) {
        try (Lease lease = hostWeights.lease();
            Lease beside = hostWeights.lease()) {
          weights.assertHeldBy(lease);
          weights.assertHeldBy(beside);
        }
        assertThat(weights.reads).hasValue(reads);
        assertThat(hostWeights.isInMemory()).isFalse();
      }
      assertThat(store.totals().reads()).isEqualTo(3);
      assertThat(store.totals().readBytes()).isEqualTo(30_000);
    }
  }

  @Test
  void shouldLetGoWhatWasLeasedLongestAgoWhenTheBudgetIsSpent() {
    store = store(3 * PAGE);
    FakeWeights[] weights = new FakeWeights[4];
    HostWeights[] hostWeights = new HostWeights[4];
    for (int i = 0; i < 4; i++) {
      weights[i] = new FakeWeights("", FakeWeights.bytes(i, PAGE));
      if (i == 3) {
        hostWeights[0].lease().close();
      }
      hostWeights[i] = weights[i].openIn(store, "m" + i);
    }
    assertThat(Arrays.stream(hostWeights).map(HostWeights::isInMemory))
        .containsExactly(true, false, true, true);
    try (Lease again = hostWeights[1].lease()) {
      weights[1].assertHeldBy(again);
      assertThat(weights[1].reads).hasValue(2);
      assertThat(Arrays.stream(hostWeights).map(HostWeights::isInMemory))
          .containsExactly(true, true, false, true);
    }
    assertThat(store.totals().evictions()).isEqualTo(2);
    assertThat(store.totals().heldBytes()).isEqualTo(3 * PAGE);
    Arrays.stream(hostWeights).forEach(HostWeights::close);
  }

  @Test
  void shouldNeverLetGoWhatIsLeasedOrCannotBeReadAgain() {
    store = store(PAGE);
    FakeWeights leased = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    FakeWeights handedOver = new FakeWeights("", FakeWeights.bytes(2, PAGE));
    FakeWeights third = new FakeWeights("", FakeWeights.bytes(3, PAGE));
    HostWeights first = leased.openIn(store, "first");
    Lease lease = first.lease();
    HostWeights once = store.open("once", handedOver.once(), HostWeightsKind.RE_READ);
    HostWeights last = third.openIn(store, "last");
    assertThat(first.evict()).isFalse();
    assertThat(once.evict()).isFalse();
    once.keepAs(HostWeightsKind.RE_READ);
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
    try (HostWeights hostWeights = weights.openIn(store, "m")) {
      assertThat(weights.reads).hasValue(0);
      try (Lease lease = hostWeights.lease()) {
        weights.assertHeldBy(lease);
      }
      assertThat(hostWeights.isInMemory()).isFalse();
      assertThat(store.totals().heldBytes()).isZero();
    }
  }

  @Test
  void shouldFollowWhenHostWeightsAreToBeKeptOrNotAnyMore() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    try (HostWeights hostWeights = weights.openIn(store, "m")) {
      Lease lease = hostWeights.lease();
      hostWeights.keepAs(HostWeightsKind.RE_READ);
      assertThat(hostWeights.isInMemory()).as("leased").isTrue();
      lease.close();
      assertThat(hostWeights.isInMemory()).isFalse();
      hostWeights.keepAs(HostWeightsKind.KEPT);
      hostWeights.lease().close();
      assertThat(hostWeights.isInMemory()).isTrue();
      assertThat(hostWeights.evict()).isTrue();
      assertThat(hostWeights.evict()).isTrue();
      assertThat(hostWeights.isInMemory()).isFalse();
    }
  }

  @Test
  void shouldSayWhyAndKeepNothingWhenWeightsCannotBeRead() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE), new byte[9]);
    weights.onRead =
        () -> {
          throw new BundleException("weights.safetensors", "was cut off");
        };
    assertThatThrownBy(() -> weights.openIn(store, "m"))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("was cut off");
    assertThat(store.totals().heldBytes()).isZero();
    try (HostWeights hostWeights = weights.openIn(store, "m", HostWeightsKind.RE_READ)) {
      assertThatThrownBy(hostWeights::lease).isInstanceOf(BundleException.class);
      assertThat(weights.open).hasValue(0);
      weights.onRead = () -> {};
      try (Lease lease = hostWeights.lease()) {
        weights.assertHeldBy(lease);
      }
    }
  }

  @Test
  void shouldVerifyTheVeryBytesThatAreLeased() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    try (CorruptWeights corrupt = new CorruptWeights(weights)) {
      assertThatThrownBy(() -> store.open("kept", corrupt, HostWeightsKind.KEPT))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("tensor 0 is not what was published");
      try (HostWeights hostWeights = store.open("read again", corrupt, HostWeightsKind.RE_READ)) {
        assertThatThrownBy(hostWeights::lease)
            .isInstanceOf(BundleException.class)
            .hasMessageContaining("tensor 0 is not what was published");
      }
    }
    assertThat(weights.open).hasValue(0);
  }

  @Test
  void shouldPinWhatIsKeptWhenTheDeviceHasMemoryOfItsOwn() {
    store = new HostWeightStore(HostWeightsOptions.DEFAULT, new FarDevice(device));
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, 10_000));
    try (HostWeights hostWeights = weights.openIn(store, "m");
        HostWeights passing = weights.openIn(store, "passing", HostWeightsKind.RE_READ);
        Lease lease = passing.lease()) {
      weights.assertHeldBy(lease);
      assertThat(hostWeights.report().pinned()).isTrue();
      assertThat(passing.report().pinned()).isFalse();
      assertThat(device.openHandles()).isEqualTo(1);
      assertThat(hostWeights.evict()).isTrue();
      assertThat(device.openHandles()).isZero();
    }
  }

  @Test
  void shouldStoreEqualTensorsOnceWithinAModelAndAcross() {
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    FakeWeights a = new FakeWeights("", common, FakeWeights.bytes(2, 64 << 10), common.clone());
    FakeWeights b = new FakeWeights("", FakeWeights.bytes(3, 64 << 10), common.clone());
    HostWeights first = a.openIn(store, "a");
    assertThat(store.totals().heldBytes()).isEqualTo(192 << 10);
    assertThat(store.totals().savedBytes()).isEqualTo(128 << 10);
    HostWeights second = b.openIn(store, "b");
    assertThat(store.totals().heldBytes()).isEqualTo(256 << 10);
    assertThat(store.totals().savedBytes()).isEqualTo(256 << 10);
    try (Lease of = second.lease()) {
      first.close();
      b.assertHeldBy(of);
    }
    HostWeights third = b.openIn(store, "again");
    second.close();
    try (Lease of = third.lease()) {
      b.assertHeldBy(of);
    }
    third.close();
  }

  @Test
  void shouldKeepPinnedHostWeightsWholeWhileOthersReadOfThem() {
    store = new HostWeightStore(HostWeightsOptions.DEFAULT, new FarDevice(device));
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    HostWeights first = new FakeWeights("", common, FakeWeights.bytes(2, PAGE)).openIn(store, "a");
    FakeWeights b = new FakeWeights("", common);
    HostWeights second = b.openIn(store, "b");
    first.close();
    assertThat(device.openHandles()).isEqualTo(1);
    assertThat(store.totals().heldBytes()).isEqualTo((128 << 10) + PAGE);
    try (Lease lease = second.lease()) {
      b.assertHeldBy(lease);
    }
    second.close();
  }

  @Test
  void shouldGiveBackAllHostWeightsButWhatOthersRead() {
    byte[] common = FakeWeights.bytes(1, 128 << 10);
    FakeWeights a =
        new FakeWeights(
            "", FakeWeights.bytes(2, 256 << 10), common, FakeWeights.bytes(3, 512 << 10));
    FakeWeights b = new FakeWeights("", common);
    HostWeights first = a.openIn(store, "a");
    HostWeights second = b.openIn(store, "b");
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
    try (HostWeights first = a.openIn(store, "a");
        HostWeights second = b.openIn(store, "b");
        Lease ofFirst = first.lease();
        Lease ofSecond = second.lease()) {
      a.assertHeldBy(ofFirst);
      b.assertHeldBy(ofSecond);
    }
  }

  @Test
  void shouldKeepLeasedMemoryWhenHostWeightsAreClosed() {
    FakeWeights weights = new FakeWeights("", FakeWeights.bytes(1, PAGE));
    HostWeights hostWeights = weights.openIn(store, "m");
    Lease lease = hostWeights.lease();
    hostWeights.close();
    hostWeights.close();
    weights.assertHeldBy(lease);
    assertThatThrownBy(hostWeights::lease)
        .hasMessageContaining("host weights of model 'm' are closed");
    lease.close();
    lease.close();
    assertThatThrownBy(() -> lease.tensor(0)).hasMessageContaining("lease is closed");
  }

  @Test
  void shouldNameAmountAndFixWhenThereIsNoMemory() {
    assertThatThrownBy(() -> new Block(1L << 60, false, new HostBytes(), "the budget"))
        .isInstanceOf(HostWeightsException.class)
        .hasMessageContaining("1152921504606846976 bytes of host memory")
        .hasMessageContaining("Cannot allocate memory")
        .hasMessageContaining("set the budget below");
  }
}
