package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReadyHeapTest {

  @Test
  void shouldGiveTheSmallestKeyAndOnTiesTheLowerSlot() {
    ReadyHeap heap = new ReadyHeap();
    heap.put(7, 10, 0);
    heap.put(3, 10, 1);
    heap.put(5, 20, 0);
    assertThat(heap.first()).isEqualTo(7);
    heap.put(3, 10, 0);
    assertThat(heap.first()).isEqualTo(3);
    heap.rekey(5, 1);
    assertThat(heap.first()).isEqualTo(5);
    heap.remove(5);
    heap.remove(5);
    assertThat(heap.first()).isEqualTo(3);
    assertThat(heap.size()).isEqualTo(2);
  }

  @Test
  void shouldRefuseToNameAFirstWhenEmpty() {
    ReadyHeap heap = new ReadyHeap();
    assertThatThrownBy(heap::first).hasMessageContaining("no model is ready");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void shouldAgreeWithAPlainSearchOnAnySequence(long seed) {
    Random random = new Random(seed);
    ReadyHeap heap = new ReadyHeap();
    Map<Integer, Long> expected = new HashMap<>();
    for (int step = 0; step < 4_000; step++) {
      int slot = random.nextInt(300);
      if (random.nextInt(3) == 0) {
        heap.remove(slot);
        expected.remove(slot);
      } else {
        long key = random.nextInt(50);
        heap.put(slot, key, 7);
        expected.put(slot, key);
      }
      assertThat(heap.size()).as("seed %d step %d", seed, step).isEqualTo(expected.size());
      if (!expected.isEmpty()) {
        int first =
            expected.entrySet().stream()
                .min(
                    Comparator.<Map.Entry<Integer, Long>>comparingLong(Map.Entry::getValue)
                        .thenComparing(Map.Entry::getKey))
                .orElseThrow()
                .getKey();
        assertThat(heap.first()).as("seed %d step %d", seed, step).isEqualTo(first);
      }
    }
  }
}
