package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.lane.ModelLane;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a model that takes no requests any more can be let go of. */
class RetirementsTest {
  private final LoopParts parts = new LoopParts();
  private final Retirements retirements =
      new Retirements(parts.lanes, parts.departures, parts.slots);
  private final CompletableFuture<Void> retired = new CompletableFuture<>();

  @AfterEach
  void close() {
    parts.close();
  }

  @Test
  void shouldWaitForARunOfTheModelAndForNoOther() {
    ModelLane going = parts.addResident("a");
    ModelLane staying = parts.addResident("b");
    parts.slots[0].begin(going, going.programs().getFirst());
    parts.run(parts.slots[0], 10);
    parts.slots[1].begin(staying, staying.programs().getFirst());
    parts.run(parts.slots[1], 10);
    assertThat(retirements.isEmpty()).isTrue();
    retirements.add(new Command.Retire(going.model(), retired));
    assertThat(retirements.isEmpty()).isFalse();
    assertThat(retirements.finish()).isZero();
    parts.slots[0].clear();
    assertThat(retirements.finish()).isEqualTo(1);
    assertThat(retirements.isEmpty()).isTrue();
    assertThat(retired).as("its weights are there").isNotDone();
    parts.turnLink();
    assertThat(retired).isCompleted();
    assertThat(parts.lanes.find(going.model())).isNull();
    assertThat(parts.lanes.find(staying.model())).isSameAs(staying);
    parts.slots[1].clear();
  }

  @Test
  void shouldWaitForALoadOfTheModel() {
    ModelLane going = parts.add("a");
    parts.begin(going);
    retirements.add(new Command.Retire(going.model(), retired));
    assertThat(retirements.finish()).isZero();
    parts.turnLink();
    parts.ended();
    assertThat(retirements.finish()).isEqualTo(1);
    parts.turnLink();
    assertThat(retired).isCompleted();
  }

  @Test
  void shouldWaitForWhatTheModelHasAccepted() {
    ModelLane going = parts.add("a");
    assertThat(going.counters().enter(1)).isTrue();
    retirements.add(new Command.Retire(going.model(), retired));
    assertThat(retirements.finish()).isZero();
    assertThat(retired).isNotDone();
    assertThat(parts.lanes.find(going.model())).isSameAs(going);
  }

  @Test
  void shouldSayAtOnceThatAModelIsGoneWhichNeverCame() {
    ModelLane going = parts.add("a");
    parts.departures.letGo(going);
    retirements.add(new Command.Retire(going.model(), retired));
    assertThat(retirements.finish()).isEqualTo(1);
    assertThat(retired).isCompleted();
  }

  @Test
  void shouldTellWhoWaitsWhenItIsAbandonedAndWhenTheDeviceHangs() {
    CompletableFuture<Void> waiting = new CompletableFuture<>();
    ModelLane busy = parts.addResident("b");
    retirements.add(new Command.Retire(parts.addResident("a").model(), retired));
    assertThat(retirements.finish()).isEqualTo(1);
    assertThat(busy.counters().enter(1)).isTrue();
    retirements.add(new Command.Retire(busy.model(), waiting));
    assertThat(retirements.finish()).isZero();
    parts.departures.abandon(); // the weights of the first never left
    retirements.abandon();
    assertThat(retired).isCancelled();
    assertThat(waiting).isCancelled();
    assertThat(retirements.isEmpty()).isTrue();
  }
}
