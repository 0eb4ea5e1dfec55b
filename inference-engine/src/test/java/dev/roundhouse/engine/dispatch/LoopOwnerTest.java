package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What the dispatch thread owns is touched by no other; tests run with assertions enabled. */
class LoopOwnerTest {

  @Test
  void shouldLetNobodyElseTurnTheLoop() {
    TestEngine engine = SmallDevice.engine(SmallDevice.BYTES, 1, 0);
    engine.step();
    assertRefused(engine::step);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLetNobodyElseMoveWeightsRetireModelsOrTouchLanes() {
    try (LoopParts parts = new LoopParts()) {
      ModelLane lane = parts.addResident("a");
      ModelLifecycle models = new ModelLifecycle(parts.parts, parts.weights);
      assertRefused(() -> parts.weights.turn(true));
      assertRefused(() -> parts.weights.makeRoom(lane));
      assertRefused(models::finishRetirements);
      assertRefused(() -> parts.lanes.settle(lane, 0));
      assertRefused(() -> parts.parts.ledger().leave(lane.counters()));
      assertThat(lane.counters().waiting()).isZero();
    }
  }

  @Test
  void shouldLetWhoEndsAFailedLoopTakeItsPlace() {
    DispatchLoop loop = new DispatchLoop(new LoopParts().context(), new Inbox(2));
    assertThat(loop.doWork()).isZero();
    assertThatCode(() -> elsewhere(() -> loop.endAll(new IllegalStateException("made by a test"))))
        .doesNotThrowAnyException();
    assertThatThrownBy(loop::doWork).isInstanceOf(AssertionError.class);
  }

  private static void assertRefused(Runnable action) {
    assertThatThrownBy(() -> elsewhere(action))
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(AssertionError.class);
  }

  private static void elsewhere(Runnable action) {
    CompletableFuture.runAsync(action, task -> Thread.ofPlatform().start(task)).join();
  }
}
