package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.lane.ModelLane;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a model that takes no requests any more can be let go of. */
class ModelLifecycleTest {
  private final LoopParts parts = new LoopParts();
  private final ModelLifecycle models = new ModelLifecycle(parts.parts, parts.weights);
  private final CompletableFuture<Void> retired = new CompletableFuture<>();

  @AfterEach
  void close() {
    parts.close();
  }

  @Test
  void shouldWaitForARunOfTheModelAndForNoOther() {
    ModelLane going = parts.addResident("a");
    ModelLane staying = parts.addResident("b");
    parts.slots.get(0).begin(going, going.programs().getFirst());
    parts.run(parts.slots.get(0), 10);
    parts.slots.get(1).begin(staying, staying.programs().getFirst());
    parts.run(parts.slots.get(1), 10);
    assertThat(models.isRetiring()).isFalse();
    models.retire(new Command.Retire(going.model(), retired));
    assertThat(models.isRetiring()).isTrue();
    assertThat(models.finishRetirements()).isZero();
    parts.slots.get(0).clear();
    assertThat(models.finishRetirements()).isEqualTo(1);
    assertThat(models.isRetiring()).isFalse();
    assertThat(retired).as("its weights are there").isNotDone();
    parts.turnLink();
    assertThat(retired).isCompleted();
    assertThat(parts.lanes.find(going.model())).isNull();
    assertThat(parts.lanes.find(staying.model())).isSameAs(staying);
    parts.slots.get(1).clear();
  }

  @Test
  void shouldWaitForALoadOfTheModel() {
    ModelLane going = parts.add("a");
    parts.begin(going);
    models.retire(new Command.Retire(going.model(), retired));
    assertThat(models.finishRetirements()).isZero();
    parts.turnLink();
    parts.ended();
    assertThat(models.finishRetirements()).isEqualTo(1);
    parts.turnLink();
    assertThat(retired).isCompleted();
  }

  @Test
  void shouldWaitForWhatTheModelHasAccepted() {
    ModelLane going = parts.add("a");
    assertThat(going.counters().enter(1)).isTrue();
    models.retire(new Command.Retire(going.model(), retired));
    assertThat(models.finishRetirements()).isZero();
    assertThat(retired).isNotDone();
    assertThat(parts.lanes.find(going.model())).isSameAs(going);
  }

  @Test
  void shouldSayAtOnceThatAModelIsGoneWhichNeverCame() {
    ModelLane going = parts.add("a");
    parts.weights.release(going);
    models.retire(new Command.Retire(going.model(), retired));
    assertThat(models.finishRetirements()).isEqualTo(1);
    assertThat(retired).isCompleted();
  }

  @Test
  void shouldTellWhoWaitsWhenItIsAbandonedAndWhenTheDeviceHangs() {
    CompletableFuture<Void> waiting = new CompletableFuture<>();
    ModelLane busy = parts.addResident("b");
    models.retire(new Command.Retire(parts.addResident("a").model(), retired));
    assertThat(models.finishRetirements()).isEqualTo(1);
    assertThat(busy.counters().enter(1)).isTrue();
    models.retire(new Command.Retire(busy.model(), waiting));
    assertThat(models.finishRetirements()).isZero();
    parts.weights.abandon(); // the weights of the first never left
    models.abandon();
    assertThat(retired).isCancelled();
    assertThat(waiting).isCancelled();
    assertThat(models.isRetiring()).isFalse();
  }
}
