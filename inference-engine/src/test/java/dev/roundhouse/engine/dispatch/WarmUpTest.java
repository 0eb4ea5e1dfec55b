package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which runs a new model makes, and which of them tell what a run costs. */
class WarmUpTest {
  private static final long SINCE = 7;

  private final LoopParts parts = new LoopParts();
  private final WarmUp warmUp = parts.warmUp;
  private final BatchSlot slot = parts.slots.get(0);
  private final CompletableFuture<Void> done = new CompletableFuture<>();

  @AfterEach
  void close() {
    parts.close();
  }

  @Test
  void shouldRunThreeTimesAndCountTheLastTwo() {
    ModelLane lane = parts.addResident("a");
    CostEstimate cost = lane.programs().getFirst().cost();
    warmUp.add(lane, done, SINCE);
    assertThat(run(50_000)).isFalse();
    assertThat(cost.measuredNanos()).as("nothing is known yet").isEqualTo(CostEstimate.NEVER);
    assertThat(run(3_000)).isFalse();
    assertThat(cost.meanNanos()).isEqualTo(3_000);
    assertThat(cost.measuredNanos()).isEqualTo(parts.clock.nanoTime());
    assertThat(done).isNotDone();
    assertThat(warmUp.isEmpty()).isFalse();
    assertThat(run(2_000)).isTrue();
    assertThat(cost.meanNanos()).isEqualTo(2_000); // of the latest alone, here
    assertThat(done).isCompleted();
    assertThat(warmUp.isEmpty()).isTrue();
    assertThat(warmUp.wantsRun()).isFalse();
    assertThat(warmUp.next()).isNull();
  }

  @Test
  void shouldWantARunWhenWeightsAreThereAndNoneIsUnderWay() {
    ModelLane lane = parts.add("a");
    assertThat(warmUp.isEmpty()).isTrue();
    assertThat(warmUp.wantsRun()).isFalse();
    warmUp.add(lane, done, SINCE);
    assertThat(warmUp.isEmpty()).isFalse();
    assertThat(warmUp.next()).isSameAs(lane);
    assertThat(warmUp.nextSinceNanos()).isEqualTo(SINCE);
    assertThat(warmUp.nextStagingBytes())
        .isEqualTo(lane.programs().getFirst().layout().stagingBytes())
        .isPositive();
    assertThat(warmUp.wantsRun()).as("without weights").isFalse();
    parts.begin(lane);
    parts.turnLink();
    parts.ended();
    assertThat(warmUp.wantsRun()).isTrue();
    warmUp.begin(slot);
    assertThat(slot.lane()).isSameAs(lane);
    assertThat(warmUp.wantsRun()).as("while one is under way").isFalse();
    warmUp.again();
    assertThat(warmUp.wantsRun()).isTrue();
  }

  @Test
  void shouldGiveUpOneModelAndGoOnWithTheNext() {
    ModelLane next = parts.addResident("b");
    warmUp.add(parts.addResident("a"), done, SINCE);
    warmUp.add(next, new CompletableFuture<>(), SINCE);
    warmUp.begin(slot);
    assertThat(warmUp.giveUp()).isSameAs(done).isNotDone();
    assertThat(warmUp.next()).isSameAs(next);
    assertThat(warmUp.wantsRun()).isTrue();
  }

  @Test
  void shouldTellEverybodyWhoWaitsWhenItIsAbandoned() {
    CompletableFuture<Void> other = new CompletableFuture<>();
    ModelLane lane = parts.addResident("a");
    warmUp.add(lane, done, SINCE);
    warmUp.add(parts.addResident("b"), other, SINCE);
    warmUp.begin(slot);
    warmUp.abandon();
    assertThat(done).isCancelled();
    assertThat(other).isCancelled();
    assertThat(warmUp.isEmpty()).isTrue();
    assertThat(warmUp.next()).isNull();
    warmUp.add(lane, new CompletableFuture<>(), SINCE);
    assertThat(warmUp.wantsRun()).as("none is under way").isTrue();
  }

  private boolean run(long nanos) {
    warmUp.begin(slot);
    parts.run(slot, nanos);
    boolean last = warmUp.onRan(slot);
    slot.clear();
    return last;
  }
}
