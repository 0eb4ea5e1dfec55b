package dev.roundhouse.engine.evict;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExpectedUseTest {
  private static final long MB = 1_000_000;

  private final ExpectedUse policy = new ExpectedUse();
  private long now;

  @Test
  void shouldSendAVisitorAwayAgainWhenItIsNotUsedTwice() {
    register(0, 12, 100 * MB, 4 * MB);
    for (int slot = 0; slot < 10; slot++) {
      policy.loaded(slot, now);
    }
    for (int round = 0; round < 500; round++) {
      useAll(0, 10);
    }
    use(10);
    policy.loaded(10, now);
    assertThat(policy.victim()).isEqualTo(10);
    policy.evicted(10);
    use(11);
    policy.loaded(11, now);
    assertThat(policy.victim()).isEqualTo(11);
  }

  @Test
  void shouldKeepAVisitorThatIsUsedAgainWhenOthersAreUsedLess() {
    register(0, 11, 100 * MB, 4 * MB);
    for (int slot = 0; slot < 10; slot++) {
      policy.loaded(slot, now);
    }
    for (int round = 0; round < 500; round++) {
      useAll(0, 10);
    }
    policy.loaded(10, now);
    for (int use = 0; use < 60; use++) {
      use(10);
      useAll(0, 9);
    }
    assertThat(policy.victim()).as("not used any more").isEqualTo(9);
  }

  @Test
  void shouldTakeAModelForGoneSoonAfterItsLastUseWhenItWasUsedOften() {
    register(0, 12, 100 * MB, 4 * MB);
    for (int round = 0; round < 3_000; round++) {
      useAll(0, 10);
      if (round % 2 == 0) {
        use(10);
      }
    }
    policy.loaded(5, now);
    policy.loaded(10, now);
    assertThat(policy.victim()).as("half as popular").isEqualTo(10);
    for (int round = 0; round < 60; round++) {
      useAll(0, 5);
      useAll(6, 11);
    }
    policy.loaded(6, now);
    assertThat(policy.victim()).as("silent for 600 uses after 30,000").isEqualTo(5);
  }

  @Test
  void shouldSendAwayWhatSavesTheLeastPerByteWhenModelsAreUsedAlike() {
    policy.register(0, 4_000 * MB, 160 * MB); // 40 ps a byte
    policy.register(1, 100 * MB, 5 * MB); // 50 ps
    policy.register(2, MB, MB); // 1 ns
    for (int slot = 0; slot < 3; slot++) {
      policy.loaded(slot, now);
    }
    for (int round = 0; round < 50; round++) {
      useAll(0, 3);
    }
    assertThat(policy.victim()).isEqualTo(0);
    policy.register(0, 4_000 * MB, 400 * MB); // 100 ps: a slower link than was thought
    assertThat(policy.victim()).isEqualTo(1);
    policy.evicted(1);
    assertThat(policy.victim()).isEqualTo(0);
    policy.evicted(0);
    assertThat(policy.victim()).isEqualTo(2);
  }

  @Test
  void shouldRankByUseWhenModelsWeighNothingAndLoadInNoTime() {
    register(0, 2, 0, 0);
    policy.loaded(0, now);
    policy.loaded(1, now);
    use(0);
    use(1);
    use(0);
    assertThat(policy.victim()).isEqualTo(1);
  }

  @Test
  void shouldRememberAModelThatIsNotResident() {
    register(0, 3, 100 * MB, 4 * MB);
    for (int use = 0; use < 100; use++) {
      use(0);
    }
    policy.loaded(0, now);
    policy.evicted(0);
    use(1);
    use(2);
    policy.loaded(1, now);
    policy.loaded(0, now);
    assertThat(policy.victim()).isEqualTo(1);
    assertThat(policy.nextUseNanos(0, now)).isLessThan(policy.nextUseNanos(1, now));
  }

  @Test
  void shouldGiveANewModelAFairStart() {
    register(0, 200, 100 * MB, 4 * MB);
    Random random = new Random(5);
    for (int slot = 0; slot < 100; slot++) {
      policy.loaded(slot, now);
    }
    for (int use = 0; use < 100_000; use++) {
      use(random.nextInt(100));
    }
    policy.register(200, 100 * MB, 4 * MB);
    int loads = 0;
    boolean resident = false;
    for (int round = 0; round < 30; round++) {
      use(200);
      if (!resident) {
        policy.loaded(200, now);
        loads++;
      }
      for (int use = 0; use < 40; use++) { // two and a half times as popular as the others
        use(random.nextInt(100));
      }
      use(100 + round); // a visitor
      resident = policy.victim() != 200;
      if (!resident) {
        policy.evicted(200);
      }
    }
    assertThat(resident).isTrue();
    assertThat(loads).isLessThanOrEqualTo(6);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void shouldExpectWhatTheFormulasSayOfTheWholeHistory(long seed) {
    Random random = new Random(seed);
    UseRates rates = new UseRates();
    rates.ensureLength(40);
    UseHistory history = new UseHistory();
    for (int slot = 0; slot < 40; slot++) {
      rates.begin(slot);
      history.add();
    }
    for (int use = 0; use < 3_000; use++) {
      int slot = (int) (40 * Math.pow(random.nextDouble(), use < 1_500 ? 3 : 6));
      rates.used(slot);
      history.used(slot);
      int any = random.nextInt(40);
      double expected = history.perUse(any);
      assertThat(rates.perUse(any))
          .as("seed %d use %d slot %d", seed, use, any)
          .isCloseTo(expected, within(expected * 1e-6));
    }
  }

  /** With every resident model ranked again at each load, against a sort of all of them. */
  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13})
  void shouldChooseTheLeastOfAllWhenEveryRankIsFresh(long seed) {
    Random random = new Random(seed);
    int models = 60;
    ExpectedUse exact = new ExpectedUse(models);
    UseHistory history = new UseHistory();
    double[] perByte = new double[models];
    for (int slot = 0; slot < models; slot++) {
      long bytes = MB * (1 + random.nextInt(4_000));
      long reload = 1_000 + bytes * (1 + random.nextInt(3)) / 25;
      perByte[slot] = (double) reload / bytes;
      exact.register(slot, bytes, reload);
      history.add();
    }
    TreeSet<Integer> resident = new TreeSet<>();
    int choices = 0;
    for (int step = 0; step < 4_000; step++) {
      int slot = (int) (models * Math.pow(random.nextDouble(), 2));
      exact.used(slot, step);
      history.used(slot);
      if (!resident.add(slot)) {
        continue;
      }
      exact.loaded(slot, step);
      if (resident.size() > 10) {
        int victim = exact.victim();
        double least = Double.POSITIVE_INFINITY;
        for (int other : resident) {
          least = Math.min(least, history.perUse(other) * perByte[other]);
        }
        assertThat(history.perUse(victim) * perByte[victim])
            .as("seed %d step %d", seed, step)
            .isCloseTo(least, within(least * 1e-6));
        exact.evicted(victim);
        resident.remove(victim);
        choices++;
      }
    }
    assertThat(choices).isGreaterThan(500);
  }

  @Test
  void shouldStillTellModelsApartAfterMillionsOfUses() {
    register(0, 3, MB, MB);
    policy.loaded(0, now);
    policy.loaded(1, now);
    use(1);
    for (int use = 0; use < 4_000_000; use++) {
      use(2);
    }
    assertThat(policy.nextUseNanos(1, now)).isFinite();
    use(0);
    assertThat(policy.victim()).isEqualTo(1);
    assertThat(policy.nextUseNanos(0, now)).isFinite().isLessThan(policy.nextUseNanos(1, now));
  }

  private void register(int from, int to, long bytes, long reloadNanos) {
    for (int slot = from; slot < to; slot++) {
      policy.register(slot, bytes, reloadNanos);
    }
  }

  private void useAll(int from, int to) {
    for (int slot = from; slot < to; slot++) {
      use(slot);
    }
  }

  private void use(int slot) {
    now += 1_000_000;
    policy.used(slot, now);
  }
}
