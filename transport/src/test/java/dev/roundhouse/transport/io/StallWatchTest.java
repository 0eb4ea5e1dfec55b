package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StallWatchTest {
  private static final int LEAST = StallWatch.LEAST_BYTES;

  private final StallWatch watch = new StallWatch();
  private long now = -3;

  private boolean looks(long done, long bytes) {
    boolean stalled = watch.hasStalled(done, bytes, now, 100);
    now += 50;
    return stalled;
  }

  @Test
  void shouldStallWhenNothingMoves() {
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, 0)).isTrue();
  }

  @Test
  void shouldStallWhenTooLittleMoves() {
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, LEAST / 2)).isFalse();
    assertThat(looks(0, LEAST - 1)).isTrue();
  }

  @Test
  void shouldGoOnWhileEnoughMoves() {
    for (int i = 0; i < 100; i++) {
      assertThat(looks(0, (long) i * LEAST / 2)).isFalse();
    }
  }

  @Test
  void shouldGoOnWhilePartsAreCompleted() {
    for (int i = 0; i < 100; i++) {
      assertThat(looks(i / 2, 0)).isFalse();
    }
  }

  @Test
  void shouldBeginAnewAfterARest() {
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, 0)).isFalse();
    watch.rest();
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, 0)).isFalse();
    assertThat(looks(0, 0)).isTrue();
  }
}
