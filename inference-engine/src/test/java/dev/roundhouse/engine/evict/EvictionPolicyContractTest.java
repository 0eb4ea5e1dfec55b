package dev.roundhouse.engine.evict;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** What every policy keeps to. */
class EvictionPolicyContractTest {
  static final List<Supplier<EvictionPolicy>> POLICIES =
      List.of(LeastRecentlyUsed::new, ExpectedUse::new);

  private static final long MB = 1_000_000;

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldChooseNobodyWhenNothingIsResident(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = made.get();
    assertThat(policy.victim()).isEqualTo(-1);
    policy.register(3, MB, MB);
    policy.used(3, 1);
    assertThat(policy.victim()).isEqualTo(-1);
    policy.loaded(3, 1);
    assertThat(policy.victim()).isEqualTo(3);
    policy.evicted(3);
    assertThat(policy.victim()).isEqualTo(-1);
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldNotChooseAModelThatIsHeldForAnyReason(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = loaded(made, 2);
    policy.hold(0);
    policy.hold(0);
    assertThat(policy.victim()).isEqualTo(1);
    policy.hold(1);
    assertThat(policy.victim()).isEqualTo(-1);
    policy.release(0);
    assertThat(policy.victim()).as("still held once").isEqualTo(-1);
    policy.release(0);
    assertThat(policy.victim()).isEqualTo(0);
    policy.evicted(0);
    policy.release(1);
    assertThat(policy.victim()).isEqualTo(1);
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldKeepAHoldThatCameBeforeTheLoad(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = made.get();
    policy.register(0, MB, MB);
    policy.hold(0);
    policy.loaded(0, 1);
    assertThat(policy.victim()).isEqualTo(-1);
    policy.evicted(0);
    policy.release(0);
    assertThat(policy.victim()).as("released while it was not resident").isEqualTo(-1);
    policy.loaded(0, 2);
    assertThat(policy.victim()).isEqualTo(0);
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldKnowNothingOfTheModelThatHadTheSlotBefore(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = loaded(made, 2);
    for (int use = 0; use < 50; use++) {
      policy.used(0, 100 + use);
    }
    policy.hold(0);
    policy.unregister(0);
    policy.unregister(0);
    policy.unregister(77);
    assertThat(policy.victim()).isEqualTo(1);
    assertThatThrownBy(() -> policy.used(0, 200)).hasMessage("slot 0 is not registered");
    policy.register(0, MB, MB);
    policy.loaded(0, 201);
    policy.used(1, 202);
    assertThat(policy.victim()).as("neither held nor used").isEqualTo(0);
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldKeepWhatItKnowsWhenFiguresOfAModelChange(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = loaded(made, 2);
    policy.used(0, 10);
    policy.hold(1);
    policy.register(0, MB, MB);
    policy.register(1, MB, MB);
    assertThat(policy.victim()).isEqualTo(0);
    policy.release(1);
    assertThat(policy.victim()).as("not used").isEqualTo(1);
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldRefuseWhatCannotBe(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = loaded(made, 1);
    assertThatThrownBy(() -> policy.loaded(0, 1)).hasMessage("slot 0 is resident already");
    assertThatThrownBy(() -> policy.release(0)).hasMessage("slot 0 is not held");
    policy.evicted(0);
    assertThatThrownBy(() -> policy.evicted(0)).hasMessage("slot 0 is not resident");
    assertThatThrownBy(() -> policy.hold(1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.release(1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.used(1, 1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.loaded(1, 1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.evicted(1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.nextUseNanos(1, 1)).hasMessage("slot 1 is not registered");
    assertThatThrownBy(() -> policy.register(1, -1, 5))
        .hasMessage("slot 1: -1 bytes and 5 ns to reload them; neither may be below 0");
    assertThatThrownBy(() -> policy.register(1, 1, -5)).hasMessageContaining("-5 ns");
  }

  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldSayWhenAModelIsExpectedNext(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = made.get();
    policy.register(0, MB, MB);
    policy.register(1, MB, MB);
    assertThat(policy.nextUseNanos(0, 0)).isInfinite();
    long now = 0;
    for (int use = 0; use < 3_000; use++) {
      now += 1_000;
      policy.used(use % 10 == 0 ? 0 : 1, now);
    }
    assertThat(policy.nextUseNanos(0, now)).isBetween(8_000.0, 12_000.0);
    assertThat(policy.nextUseNanos(0, now + 1_000_000)).isGreaterThan(500_000);
  }

  /** Ten thousand models come and go at random; what is chosen is resident, free and the same. */
  @ParameterizedTest
  @FieldSource("POLICIES")
  void shouldChooseAmongTheFreeAndTheSameAgainWhateverHappens(Supplier<EvictionPolicy> made) {
    EvictionPolicy policy = made.get();
    int models = 10_000;
    BitSet registered = new BitSet();
    BitSet resident = new BitSet();
    int[] holds = new int[models];
    Random random = new Random(41);
    for (int step = 0; step < 200_000; step++) {
      int slot = (int) (models * Math.pow(random.nextDouble(), 4));
      if (!registered.get(slot)) {
        policy.register(slot, 1 + random.nextInt(1_000), random.nextInt(1_000));
        registered.set(slot);
      }
      switch (random.nextInt(8)) {
        case 0 -> {
          policy.hold(slot);
          holds[slot]++;
        }
        case 1 -> {
          if (holds[slot] > 0) {
            policy.release(slot);
            holds[slot]--;
          }
        }
        case 2 -> {
          if (random.nextInt(10) == 0) {
            policy.unregister(slot);
            registered.clear(slot);
            resident.clear(slot);
            holds[slot] = 0;
          }
        }
        case 3, 4, 5 -> policy.used(slot, step);
        default -> {
          if (!resident.get(slot)) {
            policy.loaded(slot, step);
            resident.set(slot);
          }
        }
      }
      if (resident.cardinality() > 160) {
        int victim = policy.victim();
        assertThat(policy.victim()).isEqualTo(victim);
        if (victim >= 0) {
          assertThat(resident.get(victim) && holds[victim] == 0).as("step %d", step).isTrue();
          policy.evicted(victim);
          resident.clear(victim);
        } else {
          assertThat(resident.stream().allMatch(held -> holds[held] > 0)).isTrue();
        }
      }
    }
  }

  private static EvictionPolicy loaded(Supplier<EvictionPolicy> made, int models) {
    EvictionPolicy policy = made.get();
    for (int slot = 0; slot < models; slot++) {
      policy.register(slot, MB, MB);
      policy.loaded(slot, slot);
    }
    return policy;
  }
}
