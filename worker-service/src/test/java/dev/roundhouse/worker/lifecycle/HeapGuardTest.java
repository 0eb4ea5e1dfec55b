package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HeapGuardTest {
  private final AtomicLong used = new AtomicLong();
  private final List<Integer> exits = new ArrayList<>();
  private Runnable collection = () -> {};
  private final HeapGuard guard =
      new HeapGuard(used::get, () -> collection.run(), 1000, exits::add);

  @Test
  void shouldEndTheProcessWhenTheHeapStaysFull() {
    used.set(951);
    for (int i = 1; i < HeapGuard.MOST_LOOKS; i++) {
      guard.look();
    }
    assertThat(exits).isEmpty();
    guard.look();
    assertThat(exits).containsExactly(HeapGuard.CODE);
  }

  @Test
  void shouldGoOnWhenItIsFullNowAndThen() {
    for (int i = 0; i < 10 * HeapGuard.MOST_LOOKS; i++) {
      used.set(i % HeapGuard.MOST_LOOKS == 0 ? 950 : 1000);
      guard.look();
    }
    assertThat(exits).isEmpty();
  }

  @Test
  void shouldGoOnWhenWhatFilledItCanBeCollected() {
    collection = () -> used.set(100);
    for (int i = 0; i < 2 * HeapGuard.MOST_LOOKS; i++) {
      used.set(1000);
      guard.look();
    }
    assertThat(exits).isEmpty();
  }

  @Test
  void shouldEndTheProcessWhenAThreadOfTheServersRunsOutOfMemory() {
    guard.ended(new Thread("other"), new IllegalStateException());
    assertThat(exits).isEmpty();
    guard.ended(new Thread("own"), new OutOfMemoryError());
    assertThat(exits).containsExactly(HeapGuard.CODE);
  }
}
