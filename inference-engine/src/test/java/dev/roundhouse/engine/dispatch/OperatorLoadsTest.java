package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.dispatch.OperatorLoads.Asked;
import dev.roundhouse.engine.lane.ModelLane;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who is told what of weights that the operator has asked for. */
class OperatorLoadsTest {
  private final LoopParts parts = new LoopParts();
  private final OperatorLoads asked = parts.asked;
  private final CompletableFuture<Void> first = new CompletableFuture<>();
  private final CompletableFuture<Void> second = new CompletableFuture<>();

  @AfterEach
  void close() {
    parts.close();
  }

  @Test
  void shouldBringEachOnceInTheOrderInWhichTheyWereAskedFor() {
    ModelLane a = parts.add("a");
    ModelLane b = parts.add("b");
    assertThat(asked.isEmpty()).isTrue();
    assertThat(asked.next()).isNull();
    asked.add(a, first, 5);
    asked.add(b, second, 6);
    assertThat(asked.isEmpty()).isFalse();
    assertThat(asked.next()).isEqualTo(new Asked(a, first, 5));
    parts.begin(a);
    assertThat(asked.next()).isEqualTo(new Asked(b, second, 6));
    parts.turnLink();
    parts.ended();
    assertThat(asked.next()).as("the first is there").isEqualTo(new Asked(b, second, 6));
    asked.arrived(a);
    assertThat(first).isCompleted();
    assertThat(second).isNotDone();
    asked.arrived(b);
    assertThat(second).isCompleted();
    assertThat(asked.isEmpty()).isTrue();
  }

  @Test
  void shouldSayWhetherAnybodyHadAskedForWhatFailed() {
    ModelLane a = parts.add("a");
    ModelLane b = parts.add("b");
    Throwable failure = new IllegalStateException("made by a test");
    assertThat(asked.failed(a, failure)).isFalse();
    asked.add(a, first, 5);
    asked.add(a, second, 6);
    assertThat(asked.failed(b, failure)).isFalse();
    assertThat(first).isNotDone();
    assertThat(asked.failed(a, failure)).isTrue();
    assertThat(first).isCompletedExceptionally();
    assertThat(second).isCompletedExceptionally();
    assertThat(asked.failed(a, failure)).as("told already").isFalse();
    assertThat(asked.isEmpty()).isTrue();
  }

  @Test
  void shouldTellEverybodyWhoWaitsWhenTheyAreAbandoned() {
    asked.add(parts.add("a"), first, 5);
    asked.add(parts.add("b"), second, 6);
    asked.abandon();
    assertThat(first).isCancelled();
    assertThat(second).isCancelled();
    assertThat(asked.isEmpty()).isTrue();
    assertThat(asked.next()).isNull();
  }
}
