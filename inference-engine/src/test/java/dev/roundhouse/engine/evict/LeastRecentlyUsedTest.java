package dev.roundhouse.engine.evict;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeastRecentlyUsedTest {

  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23})
  void shouldAgreeWithAListInOrderOfUse(long seed) {
    Random random = new Random(seed);
    LeastRecentlyUsed policy = new LeastRecentlyUsed();
    Set<Integer> order = new LinkedHashSet<>();
    Set<Integer> held = new LinkedHashSet<>();
    for (int slot = 0; slot < 50; slot++) {
      policy.register(slot, random.nextInt(9), random.nextInt(9));
    }
    for (int step = 0; step < 5_000; step++) {
      int slot = random.nextInt(50);
      policy.used(slot, 7); // time stands still
      if (!order.remove(slot)) {
        policy.loaded(slot, 7);
      }
      order.add(slot);
      if (held.add(slot)) {
        policy.hold(slot);
      } else {
        held.remove(slot);
        policy.release(slot);
      }
      int expected = order.stream().filter(other -> !held.contains(other)).findFirst().orElse(-1);
      assertThat(policy.victim()).as("seed %d step %d", seed, step).isEqualTo(expected);
      if (order.size() > 12 && expected >= 0) {
        policy.evicted(expected);
        order.remove(expected);
      }
    }
  }
}
