package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.schedule.Discipline.Front;
import dev.roundhouse.engine.schedule.Discipline.Standing;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What holds for each discipline, also behind one that passes everything on. */
class EveryDisciplineTest {
  private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);

  static Stream<Discipline> all() {
    return Stream.concat(
        Stream.of(new Fifo(), new EarliestDeadline()), Stream.concat(sharing(), forwarded()));
  }

  static Stream<Discipline> sharing() {
    return Stream.of(fair(), new VirtualTime(), new Forwarded(fair()));
  }

  private static Stream<Discipline> forwarded() {
    return Stream.of(new Forwarded(new Fifo()), new Forwarded(new EarliestDeadline()));
  }

  private static Discipline fair() {
    return new FairShare(TimeUnit.SECONDS.toNanos(10), 1);
  }

  @ParameterizedTest
  @MethodSource("all")
  void shouldKnowWhichModelsAreReady(Discipline discipline) {
    for (int slot = 0; slot < 3; slot++) {
      discipline.register(slot, 1);
    }
    assertThat(discipline.isEmpty()).isTrue();
    assertThat(discipline.hasOther(0)).isFalse();
    assertThatThrownBy(discipline::choose).isInstanceOf(IllegalStateException.class);

    discipline.ready(0, front(1));
    assertThat(discipline.isEmpty()).isFalse();
    assertThat(discipline.hasOther(0)).as("none but itself").isFalse();
    assertThat(discipline.hasOther(1)).isTrue();

    discipline.ready(2, front(2));
    assertThat(discipline.hasOther(0)).isTrue();
    assertThat(discipline.choose()).as("the first that came").isZero();
    discipline.notReady(0);
    discipline.notReady(0);
    assertThat(discipline.choose()).isEqualTo(2);
    discipline.unregister(2);
    assertThat(discipline.isEmpty()).isTrue();
  }

  @ParameterizedTest
  @MethodSource("sharing")
  void shouldGoByWhatWasChargedUntilItIsCorrected(Discipline discipline) {
    discipline.register(0, 1);
    discipline.register(1, 3);
    discipline.ready(0, front(1));
    discipline.ready(1, front(2));
    assertThat(standing(discipline, 0).share()).isEqualTo(0.25);
    assertThat(standing(discipline, 1).share()).isEqualTo(0.75);
    int first = discipline.choose();
    discipline.charge(first, MILLIS, 0);
    assertThat(discipline.choose()).isEqualTo(1 - first);
    discipline.correct(first, MILLIS, 0, 0);
    assertThat(discipline.choose()).as("it was not run after all").isEqualTo(first);
  }

  @ParameterizedTest
  @MethodSource("all")
  void shouldTellTheOrderInWhichModelsWouldBeChosenOneByOne(Discipline discipline) {
    Random random = new Random(17);
    for (int slot = 0; slot < 40; slot++) {
      discipline.register(slot, 1 + random.nextInt(5));
    }
    assertThat(discipline.order()).isEmpty();
    for (int round = 0; round < 500; round++) {
      int slot = random.nextInt(40);
      if (random.nextInt(3) == 0) {
        discipline.notReady(slot);
      } else {
        long arrival = random.nextInt(1000);
        discipline.ready(
            slot,
            new Front(arrival, arrival + random.nextInt(100), 1 + random.nextInt(50) * MILLIS));
      }
      if (discipline.isEmpty()) {
        continue;
      }
      int[] order = discipline.order();
      int chosen = discipline.choose();
      assertThat(order[0]).as("round %d", round).isEqualTo(chosen);
      assertThat(order).doesNotHaveDuplicates();
      assertThat(discipline.order()).as("asking changes nothing").isEqualTo(order);
      discipline.charge(chosen, MILLIS * random.nextInt(9), round * MILLIS);
    }
  }

  @ParameterizedTest
  @MethodSource("all")
  void shouldOrderEveryReadyModel(Discipline discipline) {
    for (int slot = 0; slot < 9; slot++) {
      discipline.register(slot, 1 + slot % 2);
      discipline.ready(slot, front(100 - slot));
    }
    int[] order = discipline.order();
    for (int place = 0; place < order.length; place++) {
      int chosen = discipline.choose();
      if (place == 0) {
        assertThat(order[place]).isEqualTo(chosen);
      }
      discipline.notReady(order[place]);
    }
    assertThat(discipline.isEmpty()).isTrue();
    assertThat(discipline.criterion()).isIn("share", "deadline", "arrival");
  }

  @Test
  void shouldPassOnWhatADisciplineSaysOfItself() {
    Discipline lenient =
        new Forwarded(new EarliestDeadline()) {
          @Override
          public boolean shedsByCost() {
            return false;
          }
        };
    Discipline forwarded = new Forwarded(lenient);
    assertThat(forwarded.name()).isEqualTo("edf");
    assertThat(forwarded.watchesQueues()).isTrue();
    assertThat(forwarded.shedsByCost()).isFalse();
    assertThat(forwarded.standing(0)).isNull();
    Discipline fifo = new Forwarded(new Fifo());
    assertThat(fifo.watchesQueues()).isFalse();
    assertThat(fifo.shedsByCost()).isTrue();
  }

  private static Standing standing(Discipline discipline, int slot) {
    return Objects.requireNonNull(discipline.standing(slot));
  }

  private static Front front(long arrival) {
    return new Front(arrival, arrival + 100, 1);
  }

  private static class Forwarded extends ForwardingDiscipline {
    Forwarded(Discipline discipline) {
      super(discipline);
    }
  }
}
