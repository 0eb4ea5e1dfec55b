package dev.roundhouse.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class OwnPauseTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(1);
  private static final String SILENCE = "";

  private final Deque<CompletableFuture<String>> asked = new ArrayDeque<>();
  private long now;

  private CompletableFuture<String> ask() {
    return OwnPause.askAgain(
        () -> {
          CompletableFuture<String> answer = new CompletableFuture<>();
          asked.add(answer);
          return answer;
        },
        String::isEmpty,
        TIMEOUT,
        () -> now);
  }

  private void afterMillis(long millis, String answer) {
    now += Duration.ofMillis(millis).toNanos();
    asked.remove().complete(answer);
  }

  @Test
  void shouldAskAgainWhenThisProcessWasStopped() {
    CompletableFuture<String> told = ask();
    afterMillis(18_000, SILENCE);
    assertThat(told).isNotDone();
    afterMillis(5, "here");
    assertThat(told).isCompletedWithValue("here");
    assertThat(asked).isEmpty();
  }

  @Test
  void shouldBelieveSilenceInTimeAndWhateverIsSaid() {
    for (long millis : List.of(1L, 1_000L, 1_499L)) {
      CompletableFuture<String> told = ask();
      afterMillis(millis, SILENCE);
      assertThat(told).isCompletedWithValue(SILENCE);
    }
    CompletableFuture<String> late = ask();
    afterMillis(18_000, "here");
    assertThat(late).isCompletedWithValue("here");
    assertThat(asked).isEmpty();
  }

  @Test
  void shouldAskOnceMoreOnly() {
    CompletableFuture<String> told = ask();
    afterMillis(1_500, SILENCE);
    afterMillis(18_000, SILENCE);
    assertThat(told).isCompletedWithValue(SILENCE);
    assertThat(asked).isEmpty();
  }
}
