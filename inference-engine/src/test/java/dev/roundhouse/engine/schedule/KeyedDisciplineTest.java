package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KeyedDisciplineTest {

  static Stream<Discipline> both() {
    return Stream.of(new Fifo(), new EarliestDeadline());
  }

  @Test
  void shouldRunTheModelThatHasWaitedLongestWhenFirstInIsFirstOut() {
    Fifo fifo = new Fifo();
    fifo.ready(0, front(30, 1));
    fifo.ready(1, front(10, 9));
    fifo.ready(2, front(10, 2));
    assertThat(fifo.choose()).isEqualTo(1);
    fifo.notReady(1);
    assertThat(fifo.choose()).as("of equals the lower slot").isEqualTo(2);
    assertThat(fifo.name()).isEqualTo("fifo");
    assertThat(fifo.watchesQueues()).isFalse();
  }

  @Test
  void shouldRunTheModelWithTheEarliestDeadlineAndOfEqualsTheOldest() {
    EarliestDeadline edf = new EarliestDeadline();
    edf.ready(0, front(1, 30));
    edf.ready(1, front(9, 20));
    edf.ready(2, front(8, 20));
    assertThat(edf.choose()).isEqualTo(2);
    edf.notReady(2);
    assertThat(edf.choose()).isEqualTo(1);
    assertThat(edf.name()).isEqualTo("edf");
    assertThat(edf.watchesQueues()).isTrue();
  }

  @ParameterizedTest
  @MethodSource("both")
  void shouldKnowOnlyWhatIsReady(Discipline discipline) {
    assertThat(discipline.isEmpty()).isTrue();
    discipline.register(3, 1);
    discipline.ready(3, front(1, 1));
    assertThat(discipline.isEmpty()).isFalse();
    discipline.charge(3, 10, 0);
    discipline.correct(3, 10, 20, 0);
    assertThat(discipline.choose()).isEqualTo(3);
    discipline.unregister(3);
    assertThat(discipline.isEmpty()).isTrue();
    assertThat(discipline.standing(3)).isNull();
    assertThat(discipline.shedsByCost()).isTrue();
  }

  private static Discipline.Front front(long arrival, long deadline) {
    return new Discipline.Front(arrival, deadline, 1);
  }
}
