package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class IngressTest {

  @Test
  void shouldHandOverInOrder() {
    Ingress<Integer> ingress = new Ingress<>(4);
    for (int round = 0; round < 10; round++) {
      assertThat(ingress.offer(round)).isTrue();
      assertThat(ingress.offer(-round)).isTrue();
      assertThat(ingress.isEmpty()).isFalse();
      assertThat(ingress.poll()).isEqualTo(round);
      assertThat(ingress.poll()).isEqualTo(-round);
      assertThat(ingress.poll()).isNull();
      assertThat(ingress.isEmpty()).isTrue();
    }
  }

  @Test
  void shouldRefuseWhenFullAndTakeAgainWhenNot() {
    Ingress<Integer> ingress = new Ingress<>(3);
    assertThat(ingress.capacity()).isEqualTo(4);
    for (int i = 0; i < 4; i++) {
      assertThat(ingress.offer(i)).isTrue();
    }
    assertThat(ingress.offer(4)).isFalse();
    assertThat(ingress.poll()).isZero();
    assertThat(ingress.offer(4)).isTrue();
    assertThat(ingress.offer(5)).isFalse();
  }

  @Test
  void shouldRefuseACapacityOutOfRange() {
    assertThatThrownBy(() -> new Ingress<Integer>(1)).hasMessageContaining("2..16777216");
  }

  @Test
  void shouldLoseAndDoubleNothingWhenManyThreadsOffer() throws Exception {
    int producers = 4;
    int each = 50_000;
    Ingress<Integer> ingress = new Ingress<>(1024);
    try (ExecutorService threads = Executors.newFixedThreadPool(producers)) {
      List<Future<Object>> running = new ArrayList<>();
      for (int producer = 0; producer < producers; producer++) {
        int first = producer * each;
        Callable<Object> offerAll =
            () -> {
              for (int i = 0; i < each; i++) {
                while (!ingress.offer(first + i)) {
                  Thread.onSpinWait();
                }
              }
              return first;
            };
        running.add(threads.submit(offerAll));
      }
      int[] lastOf = {-1, -1, -1, -1};
      for (int taken = 0; taken < producers * each; ) {
        Integer item = ingress.poll();
        if (item == null) {
          Thread.onSpinWait();
          continue;
        }
        int producer = item / each;
        assertThat(item % each).isEqualTo(lastOf[producer] + 1);
        lastOf[producer]++;
        taken++;
      }
      for (Future<Object> thread : running) {
        thread.get();
      }
    }
    assertThat(ingress.poll()).isNull();
  }
}
