package dev.roundhouse.engine.residency;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.LRU;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.evict.ExpectedUse;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is counted, and who leaves. Loads run on this thread. */
class WeightCacheTest {
  private static final long UNKNOWN = Long.MAX_VALUE;
  private static final long LONG_AGO = -1_000_000_000;

  private final ManualClock clock = new ManualClock(0);
  private final TreeMap<Integer, ModelWeights> weights = new TreeMap<>();
  private final Set<Integer> inUse = new HashSet<>();
  private Rig rig = new Rig(BYTES, LRU);

  /** A device that holds so many models of 1 MiB, and a little more. */
  private void open(double models) {
    open((long) (models * BYTES) + 100, LRU);
  }

  private void open(long memory, ResidencyOptions options) {
    rig.store.close();
    rig = new Rig(memory, options);
  }

  @AfterEach
  void shouldCountNothingWhenAllAreGone() {
    inUse.clear();
    for (int slot : List.copyOf(weights.keySet())) {
      unregister(slot);
    }
    assertThat(rig.cache.residentBytes()).isZero();
    assertThat(rig.cache.pinnedBytes()).isZero();
    assertThat(rig.cache.loadingBytes()).isZero();
    assertThat(rig.cache.scratchBytes()).isZero();
    assertThat(rig.cache.hasAbsent()).isFalse();
    assertThat(rig.device.openHandles()).isZero();
    rig.store.close();
  }

  @Test
  void shouldCountWhatIsAbsentLoadingAndResident() {
    open(2);
    assertThat(rig.cache.hasAbsent()).isFalse();
    register(0, BYTES);
    register(40, BYTES);
    assertThat(rig.cache.hasAbsent()).isTrue();
    assertThat(rig.cache.expectedNanos(weights(0))).isEqualTo(Math.round(0.1 * BYTES));

    assertThat(makeRoom(0, 0)).isEmpty();
    WeightLoad load = begin(0);
    assertThat(rig.cache.loadingBytes()).isEqualTo(BYTES);
    assertThat(rig.cache.residentBytes()).isZero();
    end(load);
    assertThat(rig.cache.loadingBytes()).isZero();
    assertThat(rig.cache.residentBytes()).isEqualTo(BYTES);
    assertThat(rig.cache.hasAbsent()).isTrue();
    bring(40);
    assertThat(rig.cache.hasAbsent()).isFalse();
    assertThat(rig.cache.residentBytes()).isEqualTo(2L * BYTES);
    unregister(40);
    assertThat(rig.cache.residentBytes()).isEqualTo(BYTES);
    assertThat(rig.cache.unregister(40)).isNull();
    assertThat(rig.cache.unregister(4000)).isNull();
  }

  @Test
  void shouldCountALoadThatFailedAsAbsent() {
    open(1);
    register(0, BYTES);
    register(1, BYTES);
    WeightLoad load = begin(0);
    load.failed(new IllegalStateException("made by a test"), clock.nanoTime());
    rig.cache.ended(load);
    assertThat(rig.cache.loadingBytes()).isZero();
    assertThat(rig.cache.residentBytes()).isZero();
    assertThat(rig.cache.hasAbsent()).isTrue();
    assertThat(weights(0).isResident()).isFalse();
    bring(1);
    assertThat(rig.cache.residentBytes()).isEqualTo(BYTES);
  }

  @Test
  void shouldWorkTheBudgetOutAgainWhenModelsComeAndGo() {
    open(10 * BYTES, LRU.withWiggle(0.1).withFraction(0.8));
    assertThat(rig.cache.poolBytes()).isEqualTo(8L * BYTES);
    register(0, BYTES, 2 * BYTES);
    register(1, BYTES, 3 * BYTES);
    register(2, BYTES, 3 * BYTES);
    assertThat(rig.cache.scratchBytes()).isEqualTo(3L * BYTES);
    assertThat(rig.cache.poolBytes()).isEqualTo(6L * BYTES);
    unregister(1);
    assertThat(rig.cache.poolBytes()).as("the other needs as much").isEqualTo(6L * BYTES);
    unregister(2);
    assertThat(rig.cache.scratchBytes()).isEqualTo(2L * BYTES);
    assertThat(rig.cache.poolBytes()).isEqualTo(7L * BYTES);
  }

  @Test
  void shouldHaveTheOneLeaveThatWasUsedLongestAgo() {
    open(3);
    registerAndBring(4);
    assertThat(resident()).containsExactly(1, 2, 3);
    use(1);
    assertThat(rig.cache.lastUsedNanos(1)).isEqualTo(clock.nanoTime());
    assertThat(rig.cache.lastUsedNanos(2)).isEqualTo(Long.MIN_VALUE);
    bring(0);
    assertThat(resident()).containsExactly(0, 1, 3);
    assertThat(rig.cache.policy()).isEqualTo("lru");
  }

  @Test
  void shouldHaveNothingLeaveWhatIsInUseOrPinned() {
    open(3);
    registerAndBring(4);
    inUse.add(1);
    rig.cache.pin(2);
    bring(0);
    assertThat(resident()).containsExactly(0, 1, 2);
    inUse.add(0);
    assertThat(makeRoom(3, LONG_AGO)).isNull();
    assertThat(resident()).containsExactly(0, 1, 2);
    inUse.clear();
    bring(3);
    assertThat(resident()).as("what could not leave then can now").doesNotContain(1).hasSize(3);
  }

  @Test
  void shouldHaveNobodyLeaveUnlessThatIsEnough() {
    open(3);
    registerAndBring(3);
    register(3, 2 * BYTES);
    inUse.addAll(Set.of(1, 2));
    assertThat(makeRoom(3, LONG_AGO)).isNull();
    assertThat(resident()).containsExactly(0, 1, 2);
    inUse.remove(1);
    assertThat(makeRoom(3, LONG_AGO)).hasSize(2);
  }

  @Test
  void shouldCountWhatIsOnItsWayAsTaken() {
    open(2);
    register(0, BYTES);
    register(1, BYTES);
    register(2, BYTES);
    WeightLoad first = begin(0);
    WeightLoad second = begin(1);
    assertThat(makeRoom(2, LONG_AGO)).isNull();
    end(first);
    assertThat(makeRoom(2, LONG_AGO)).hasSize(1);
    end(second);
  }

  @Test
  void shouldHaveWantedWeightsLeaveTheYoungestFirstForWhoWaitsMuchLonger() {
    open(2);
    registerAndBring(3);
    long now = clock.nanoTime();
    assertThat(resident()).containsExactly(1, 2);
    rig.cache.wanted(1, now + 10);
    rig.cache.wanted(1, now); // its front has ended, say
    rig.cache.wanted(2, now + 5);
    long patience = 4 * rig.cache.expectedNanos(weights(0));
    assertThat(makeRoom(0, now + 5 - patience)).as("no longer than it must").isNull();
    assertThat(makeRoom(0, now + 4 - patience))
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(2);
    bring(2);
    rig.cache.wanted(2, now + 5);
    rig.cache.unwanted(1);
    rig.cache.unwanted(1);
    assertThat(makeRoom(0, now + 100))
        .as("nobody waits for it any more")
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(1);
  }

  @Test
  void shouldHaveWeightsLeaveThatARunHoldsOnlyForWhoHasWaited() {
    open(3);
    registerAndBring(4);
    long patience = 4 * rig.cache.expectedNanos(weights(0));
    long now = clock.nanoTime();
    weights(1).hold();
    weights(1).hold();
    weights(2).hold();
    assertThat(makeRoom(0, now - patience + 1))
        .as("nothing needs it")
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(3);
    bring(3);
    patience = 4 * rig.cache.expectedNanos(weights(0));
    now = clock.nanoTime();
    rig.cache.wanted(3, now - 1);
    assertThat(makeRoom(0, now - patience)).as("it has not waited long enough").isNull();
    assertThat(left(rig.cache.leave(1, inUse::contains))).isEmpty();
    assertThat(makeRoom(0, now - patience - 1))
        .as("it has")
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(1);
    bring(1);
    weights(2).release();
    weights(1).release();
    assertThat(weights(1).isHeld()).isTrue();
    weights(1).release();
    assertThat(weights(1).isHeld()).isFalse();
    weights(2).hold();
    register(9, 3 * BYTES);
    assertThat(makeRoom(9, LONG_AGO))
        .as("in this order")
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(1, 2, 3);
    weights(2).release();
  }

  @Test
  void shouldPutThoseBackWhereTheyStoodWhoCouldNotLeave() {
    open(3);
    registerAndBring(4);
    long now = clock.nanoTime();
    rig.cache.wanted(1, now);
    rig.cache.wanted(2, now + 1);
    inUse.addAll(Set.of(2, 3));
    register(4, 2 * BYTES);
    assertThat(makeRoom(4, LONG_AGO)).isNull();
    inUse.clear();
    assertThat(makeRoom(4, LONG_AGO))
        .as("the idle one, then the younger of the others")
        .extracting(WeightCache.Left::modelIndex)
        .containsExactly(3, 2);
  }

  @Test
  void shouldBringWeightsThatExceedTheBudgetWhenNothingElseIsThere() {
    open(4 * BYTES, LRU.withFraction(0.5));
    register(0, BYTES);
    register(1, 3 * BYTES);
    register(2, 2 * BYTES);
    assertThat(rig.cache.isTooLarge(1)).isTrue();
    assertThat(rig.cache.isTooLarge(2)).isFalse();
    bring(0);
    inUse.add(0);
    assertThat(makeRoom(1, LONG_AGO)).isNull();
    inUse.clear();
    WeightLoad load = begin(2); // "0" leaves for it
    assertThat(makeRoom(1, LONG_AGO)).as("another is on its way").isNull();
    end(load);
    bring(1);
    assertThat(resident()).containsExactly(1);
    bring(0);
    assertThat(resident()).containsExactly(0);
  }

  @Test
  void shouldKeepWhatIsPinnedAndCountIt() {
    open(3);
    registerAndBring(4);
    rig.cache.pin(1);
    rig.cache.pin(1);
    assertThat(rig.cache.isPinned(1)).isTrue();
    assertThat(rig.cache.isPinned(2)).isFalse();
    assertThat(rig.cache.pinnedBytes()).isEqualTo(BYTES);
    rig.cache.pin(0); // not there yet
    rig.cache.wanted(0, 5);
    assertThat(rig.cache.pinnedBytes()).isEqualTo(2L * BYTES);
    bring(0);
    bring(2);
    bring(3);
    assertThat(resident()).containsExactly(0, 1, 3);
    rig.cache.pin(3);
    assertThatThrownBy(() -> rig.cache.pin(2))
        .isInstanceOfSatisfying(
            DeviceException.class,
            e -> assertThat(e.code()).isEqualTo(DeviceException.Code.OUT_OF_MEMORY))
        .hasMessageContaining(
            "its %d bytes of weights takes more than is left: %d of the %d bytes"
                .formatted(BYTES, 3 * BYTES, 3 * BYTES + 100));
    rig.cache.unpin(0);
    rig.cache.unpin(0);
    assertThat(rig.cache.pinnedBytes()).isEqualTo(2L * BYTES);
    assertThat(rig.cache.isPinned(0)).isFalse();
    bring(2);
    assertThat(resident()).containsExactly(1, 2, 3);
    unregister(1);
    assertThat(rig.cache.pinnedBytes()).isEqualTo(BYTES);
  }

  @Test
  void shouldPinWhatJustFits() {
    open(3L * BYTES, LRU);
    register(0, 2 * BYTES);
    register(1, BYTES);
    rig.cache.pin(0);
    rig.cache.pin(1);
    bring(0);
    bring(1);
    assertThat(resident()).containsExactly(0, 1);
  }

  @Test
  void shouldNotHaveAPinnedModelLeaveThatSomebodyWaitsFor() {
    open(2);
    registerAndBring(3);
    rig.cache.wanted(1, 10);
    rig.cache.pin(1);
    rig.cache.wanted(1, 11);
    rig.cache.wanted(2, 0);
    assertThat(makeRoom(0, LONG_AGO)).extracting(WeightCache.Left::modelIndex).containsExactly(2);
  }

  @Test
  void shouldBringWhatExceedsTheBudgetBesideWhatIsPinned() {
    open(4 * BYTES, LRU.withFraction(0.75));
    register(0, BYTES);
    register(1, 5 * BYTES / 2);
    rig.cache.pin(0);
    bring(0);
    bring(1);
    assertThat(resident()).containsExactly(0, 1);
    assertThat(rig.cache.isTooLarge(1)).isFalse();
  }

  @Test
  void shouldHaveAsManyBytesLeaveAsAreAskedForOrAllThatMay() {
    open(4);
    registerAndBring(5);
    rig.cache.pin(1);
    inUse.add(2);
    rig.cache.wanted(3, 7);
    assertThat(left(rig.cache.leave(1, inUse::contains))).containsExactly(4);
    assertThat(left(rig.cache.leave(BYTES, inUse::contains))).as("others wait for it").isEmpty();
    rig.cache.unwanted(3);
    inUse.clear();
    assertThat(left(rig.cache.leave(BYTES + 1, inUse::contains))).containsExactly(2, 3);
    assertThat(resident()).containsExactly(1);
    assertThat(left(rig.cache.leave(0, inUse::contains))).isEmpty();
  }

  @Test
  void shouldClearAllButWhatIsPinnedOrInUse() {
    open(4);
    registerAndBring(4);
    rig.cache.pin(1);
    inUse.add(2);
    rig.cache.wanted(3, 7);
    assertThat(left(rig.cache.clear(inUse::contains))).containsExactly(0, 3);
    assertThat(resident()).containsExactly(1, 2);
    assertThat(rig.cache.residentBytes()).isEqualTo(2L * BYTES);
    assertThat(rig.cache.hasAbsent()).isTrue();
    bring(3);
    inUse.clear();
    bring(0);
    assertThat(resident()).as("nothing holds the others").hasSize(4);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void shouldNeitherCountUsesNorEvictWhereNoLimitIsKnown(int models) {
    open(UNKNOWN, LRU.withFraction(0.5).withWiggle(0.5));
    register(0, BYTES, BYTES);
    assertThat(rig.cache.poolBytes()).isEqualTo(Long.MAX_VALUE);
    assertThat(rig.cache.isTooLarge(0)).isFalse();
    bring(0);
    use(0);
    assertThat(rig.cache.lastUsedNanos(0)).isEqualTo(Long.MIN_VALUE);
    rig.cache.wanted(0, 1);
    for (int i = 1; i <= models; i++) {
      register(i, BYTES, BYTES);
      bring(i);
    }
    assertThat(resident()).hasSize(models + 1);
    assertThat(left(rig.cache.leave(1, inUse::contains))).containsExactly(0);
  }

  @Test
  void shouldTellWhenAModelIsExpectedToBeUsed() {
    open(1L * BYTES, LRU.withPolicy(ExpectedUse::new));
    register(0, BYTES);
    register(1, 0);
    bring(0);
    for (int i = 0; i < 100; i++) {
      clock.advance(1_000_000);
      use(0);
    }
    assertThat(rig.cache.nextUseNanos(0, clock.nanoTime())).isBetween(5e5, 5e7);
    assertThat(rig.cache.nextUseNanos(1, clock.nanoTime())).as("it has no weights").isZero();
    assertThat(weights(1).isResident()).isTrue();
  }

  private void register(int slot, int bytes) {
    register(slot, bytes, 0);
  }

  private void register(int slot, int bytes, long scratch) {
    ModelImage image =
        bytes == 0
            ? TestImage.of("m" + slot, List.of(), List.of(), List.of())
            : TestImage.scaled("m" + slot, slot, bytes);
    weights.put(slot, rig.residency.open(image.spec(), image.weights()));
    rig.cache.register(slot, weights(slot), scratch);
  }

  /** Models from 0 on, each brought when it is registered: the last that fit stay. */
  private void registerAndBring(int models) {
    for (int slot = 0; slot < models; slot++) {
      register(slot, BYTES);
      bring(slot);
      clock.advance(1);
    }
  }

  private void unregister(int slot) {
    WeightCache.Left left = rig.cache.unregister(slot);
    if (left != null) {
      left.close();
    }
    rig.residency.close(Objects.requireNonNull(weights.remove(slot)));
  }

  private void use(int slot) {
    rig.cache.used(slot, clock.nanoTime());
  }

  /** Those who leave are closed; null when there is no room. */
  private @Nullable List<WeightCache.Left> makeRoom(int slot, long frontNanos) {
    List<WeightCache.Left> left =
        rig.cache.makeRoom(slot, frontNanos, clock.nanoTime(), inUse::contains);
    if (left != null) {
      left.forEach(WeightCache.Left::close);
    }
    return left;
  }

  private static List<Integer> left(List<WeightCache.Left> left) {
    left.forEach(WeightCache.Left::close);
    return left.stream().map(WeightCache.Left::modelIndex).toList();
  }

  private WeightLoad begin(int slot) {
    assertThat(makeRoom(slot, LONG_AGO)).as("room for " + slot).isNotNull();
    rig.cache.begin(slot);
    return new WeightLoad(slot, weights(slot));
  }

  private void end(WeightLoad load) {
    rig.lane.load(load);
    while (rig.lane.turn() > 0) {}
    assertThat(rig.lane.ended()).isSameAs(load);
    rig.cache.ended(load);
  }

  private void bring(int slot) {
    end(begin(slot));
  }

  private List<Integer> resident() {
    List<Integer> resident = new ArrayList<>();
    weights.forEach(
        (slot, model) -> {
          if (model.isResident()) {
            resident.add(slot);
          }
        });
    return resident;
  }

  private ModelWeights weights(int slot) {
    return Objects.requireNonNull(weights.get(slot));
  }

  private final class Rig {
    final SimulatedDevice device;
    final HostWeightStore store;
    final Residency residency;
    final WeightCache cache;
    final WeightUploader lane;

    Rig(long memory, ResidencyOptions options) {
      device =
          new SimulatedDevice(
              SimulatedDeviceOptions.instant((program, in, out) -> {}).withMemoryBytes(memory),
              clock);
      store = new HostWeightStore(HostWeightsOptions.DEFAULT, device);
      Device seen = memory == UNKNOWN ? new Reticent(device) : device;
      residency = new Residency(seen, store, options, spec -> Optional.empty());
      cache = residency.newCache();
      lane = residency.newUploader(clock);
    }
  }

  /** Does not say what it has. */
  private static final class Reticent extends ForwardingDevice {
    Reticent(Device device) {
      super(device);
    }

    @Override
    public DeviceMemory memory() {
      return DeviceMemory.UNKNOWN;
    }
  }
}
