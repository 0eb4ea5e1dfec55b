package dev.roundhouse.gateway.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where models go. */
class PackingTest {
  private static final List<WorkerRoom> TWO = workers(2, 0);

  @Test
  void shouldPlaceTheBusiestFirstAndEachWhereLeastIsDone() {
    Placement placement =
        pack(TWO, model("a", 0.2, 0), model("b", 0.5, 0), model("c", 0.4, 0), model("d", 0.1, 0));
    // b 0.5 | c 0.4 | a to w1: 0.6 | d to w0: 0.6
    assertThat(placement.workers("b")).containsExactly("w0");
    assertThat(placement.workers("c")).containsExactly("w1");
    assertThat(placement.workers("a")).containsExactly("w1");
    assertThat(placement.workers("d")).containsExactly("w0");
    assertThat(placement.load("w0").utilization()).isCloseTo(0.6, within(1e-12));
    assertThat(placement.load("w1").models()).isEqualTo(2);
  }

  @Test
  void shouldCountMemoryWhereItIsScarcerThanTime() {
    List<WorkerRoom> workers = List.of(new WorkerRoom("w0", 100), new WorkerRoom("w1", 1000));
    Placement placement = pack(workers, model("large", 0.1, 60), model("small", 0.09, 30));
    // large: 0.6 of w0, or max(0.1, 0.06) of w1; small: 0.3 of w0, or 0.19 of w1
    assertThat(placement.workers("large")).containsExactly("w1");
    assertThat(placement.workers("small")).containsExactly("w1");
    assertThat(placement.load("w1"))
        .isEqualTo(new Placement.Load(placement.load("w1").utilization(), 90, 2));
  }

  @Test
  void shouldNotLookAtMemoryThatIsNotKnown() {
    List<WorkerRoom> workers = List.of(new WorkerRoom("w0", 0), new WorkerRoom("w1", 100));
    assertThat(pack(workers, model("m", 0.5, 1 << 30)).workers("m")).containsExactly("w0");
  }

  @Test
  void shouldPlaceWhereWeightsFitWhenThatIsForbiddenElsewhere() {
    List<WorkerRoom> workers = List.of(new WorkerRoom("w0", 100), new WorkerRoom("w1", 50));
    ModelDemand[] models = {model("a", 0.9, 80), model("b", 0.1, 40), model("c", 0.05, 30)};
    Placement kept = pack(workers, models);
    assertThat(kept.workers("a")).containsExactly("w0");
    assertThat(kept.workers("b")).containsExactly("w1");
    // It fits nowhere any more: where it is least bad.
    assertThat(kept.workers("c")).containsExactly("w0");
    ModelDemand busy = model("busy", 0.9, 10);
    ModelDemand wide = model("wide", 0.3, 55);
    List<WorkerRoom> uneven = List.of(new WorkerRoom("w0", 100), new WorkerRoom("w1", 50));
    assertThat(Packing.pack(List.of(busy, wide), uneven, Placement.NONE, 0, true).workers("wide"))
        .as("fits on w0 alone, which is busier")
        .containsExactly("w0");
    assertThat(Packing.pack(List.of(busy, wide), uneven, Placement.NONE, 0, false).workers("wide"))
        .containsExactly("w1");
  }

  @Test
  void shouldLeaveAModelWhereItIsWhenAnotherPlaceIsHardlyBetter() {
    ModelDemand first = model("first", 0.5, 0);
    ModelDemand second = model("second", 0.45, 0);
    ModelDemand third = model("third", 0.1, 0);
    List<ModelDemand> models = List.of(first, second, third);
    Placement before =
        Packing.pack(List.of(third), TWO, Placement.NONE, 0, true); // third on w0, the first of two
    assertThat(before.workers("third")).containsExactly("w0");
    // 0.6 at home, 0.55 elsewhere: 9.1 % worse.
    assertThat(Packing.pack(models, TWO, before, 0.1, true).workers("third")).containsExactly("w0");
    Placement moved = Packing.pack(models, TWO, before, 0.09, true);
    assertThat(moved.workers("third")).containsExactly("w1");
    assertThat(moved.moved(before)).isEqualTo(1);
    assertThat(before.moved(before)).isZero();
  }

  @Test
  void shouldPlaceReplicasOnDifferentWorkersAndCountTheirShares() {
    ModelDemand busy = new ModelDemand("busy", 0.9, 30, 2, Set.of("w0", "w1", "w2"));
    Placement placement = pack(workers(3, 100), busy, model("other", 0.6, 10, 3));
    assertThat(placement.workers("busy")).containsExactly("w0", "w1");
    assertThat(placement.workers("other")).containsExactly("w2");
    assertThat(placement.load("w0").utilization()).isCloseTo(0.45, within(1e-12));
    assertThat(placement.load("w0").weightBytes()).isEqualTo(30);
    assertThat(placement.load("w1").weightBytes()).isEqualTo(30);
  }

  @Test
  void shouldPlaceReplicasWhereTheyFitFirstAndWhereTheyWere() {
    List<WorkerRoom> workers =
        List.of(
            new WorkerRoom("w0", 10),
            new WorkerRoom("w1", 100),
            new WorkerRoom("w2", 100),
            new WorkerRoom("w3", 100));
    ModelDemand model = new ModelDemand("m", 0.3, 50, 2, Set.of("w0", "w1", "w2", "w3"));
    assertThat(Packing.pack(List.of(model), workers, Placement.NONE, 0, true).workers("m"))
        .containsExactly("w1", "w2");
    Placement before = new Placement(Map.of("m", List.of("w3", "w2")), Map.of());
    assertThat(Packing.pack(List.of(model), workers, before, 0, true).workers("m"))
        .containsExactly("w2", "w3");
  }

  @Test
  void shouldPlaceNoMoreReplicasThanThereAreWorkers() {
    ModelDemand many = new ModelDemand("many", 1, 0, 5, Set.of("w0", "w1"));
    ModelDemand all = new ModelDemand("all", 1, 0, ModelDemand.EVERYWHERE, Set.of("w0", "w1"));
    Placement placement = pack(TWO, many, all);
    assertThat(placement.workers("many")).containsExactlyInAnyOrder("w0", "w1");
    assertThat(placement.workers("all")).containsExactlyInAnyOrder("w0", "w1");
  }

  @Test
  void shouldSpreadAModelOverThoseThatHaveIt() {
    ModelDemand drifted = new ModelDemand("drifted", 0.4, 10, 1, Set.of("w2", "w1", "gone"));
    Placement placement = pack(workers(3, 100), drifted, model("even", 0.3, 0, 3));
    assertThat(placement.workers("drifted")).containsExactly("w1", "w2");
    assertThat(placement.workers("even")).containsExactly("w0");
    assertThat(placement.load("w1").utilization()).isCloseTo(0.2, within(1e-12));
  }

  @Test
  void shouldNotPlaceWhatNobodyHas() {
    ModelDemand nowhere = new ModelDemand("nowhere", 0.4, 10, 1, Set.of());
    assertThat(pack(TWO, nowhere).workers("nowhere")).isEmpty();
    assertThat(Packing.pack(List.of(nowhere), List.of(), Placement.NONE, 0, true))
        .isEqualTo(Placement.NONE);
  }

  @Test
  void shouldRefuseWhatMakesNoSense() {
    assertThatThrownBy(() -> new ModelDemand("m", Double.NaN, 0, 1, Set.of()))
        .hasMessage("utilization of model 'm' is NaN; it is 0 or more");
    assertThatThrownBy(() -> new ModelDemand("m", 0, 0, 0, Set.of()))
        .hasMessage("model 'm' is to have 0 replicas; 1 or more, or -1 for all workers");
    assertThatThrownBy(() -> Packing.pack(List.of(), TWO, Placement.NONE, 1, true))
        .hasMessage("hysteresis is 1.0; it is 0 to below 1");
    assertThatThrownBy(
            () ->
                Packing.pack(
                    List.of(model("m", 0, 0), model("m", 0, 0)), TWO, Placement.NONE, 0, true))
        .hasMessage("there are two models 'm'");
  }

  /** Whatever order models and workers are told in: every gateway comes to the same. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void shouldNotDependOnTheOrderInWhichItIsTold(long seed) {
    Random random = new Random(seed);
    List<ModelDemand> models = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      int replicas = i % 50 == 0 ? 3 : 1;
      models.add(
          new ModelDemand(
              "m" + i, random.nextInt(5) / 100.0, random.nextInt(4), replicas, names(8)));
    }
    List<WorkerRoom> workers = new ArrayList<>(workers(8, 100));
    Placement placement = Packing.pack(models, workers, Placement.NONE, 0.1, true);
    Collections.shuffle(models, random);
    Collections.shuffle(workers, random);
    assertThat(Packing.pack(models, workers, Placement.NONE, 0.1, true)).isEqualTo(placement);
    assertThat(Packing.pack(models, workers, placement, 0.1, true).moved(placement))
        .as("nothing moves when nothing has changed")
        .isZero();
    assertThat(placement.loads().values().stream().mapToLong(Placement.Load::weightBytes))
        .allMatch(bytes -> bytes <= 100);
  }

  private static Placement pack(List<WorkerRoom> workers, ModelDemand... models) {
    return Packing.pack(List.of(models), workers, Placement.NONE, 0, true);
  }

  private static ModelDemand model(String name, double utilization, long bytes) {
    return model(name, utilization, bytes, 2);
  }

  private static ModelDemand model(String name, double utilization, long bytes, int workers) {
    return new ModelDemand(name, utilization, bytes, 1, names(workers));
  }

  private static Set<String> names(int count) {
    return Set.copyOf(IntStream.range(0, count).mapToObj(i -> "w" + i).toList());
  }

  private static List<WorkerRoom> workers(int count, long bytes) {
    return IntStream.range(0, count).mapToObj(i -> new WorkerRoom("w" + i, bytes)).toList();
  }
}
