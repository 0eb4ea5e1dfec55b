package dev.roundhouse.benchmarks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class CompletionRingTest {
  private volatile int taken;

  @Test
  void shouldGiveSlotsInOrderWhenTheRingGoesRound() {
    CompletionRing ring = new CompletionRing(4, Thread.currentThread());
    for (int i = 0; i < 10; i++) {
      ring.put(i);
      ring.put(i + 1);
      assertThat(ring.take(0)).isEqualTo(i);
      assertThat(ring.take(0)).isEqualTo(i + 1);
    }
  }

  @Test
  void shouldWakeTheCallerWhenItSleeps() throws InterruptedException {
    int slots = 100_000;
    CompletionRing ring = new CompletionRing(4, Thread.currentThread());
    Thread producer =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  for (int i = 0; i < slots; i++) {
                    ring.put(i & 3);
                    while (i - taken >= 3) {
                      Thread.onSpinWait();
                    }
                  }
                });
    for (int i = 0; i < slots; i++) {
      assertThat(ring.take(0)).isEqualTo(i & 3);
      taken = i + 1;
    }
    producer.join();
  }

  @Test
  void shouldRefuseWhenTheCapacityIsNotAPowerOfTwo() {
    assertThatThrownBy(() -> new CompletionRing(6, Thread.currentThread()))
        .hasMessageContaining("6 is not a power of two");
  }
}
