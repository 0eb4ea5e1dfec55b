package dev.roundhouse.engine.thread;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class OwnerThreadTest {
  private final OwnerThread owner = new OwnerThread();

  @Test
  void shouldBeTheFirstThatAsks() {
    assertThat(owner.isHere()).isTrue();
    assertThat(elsewhere(owner::isHere)).isFalse();
    assertThat(owner.isHere()).isTrue();
  }

  @Test
  void shouldBeWhoTakesItsPlace() {
    assertThat(owner.isHere()).isTrue();
    assertThat(
            elsewhere(
                () -> {
                  owner.takeOver();
                  return owner.isHere();
                }))
        .isTrue();
    assertThat(owner.isHere()).isFalse();
  }

  private static boolean elsewhere(Supplier<Boolean> question) {
    return CompletableFuture.supplyAsync(question, task -> Thread.ofPlatform().start(task)).join();
  }
}
