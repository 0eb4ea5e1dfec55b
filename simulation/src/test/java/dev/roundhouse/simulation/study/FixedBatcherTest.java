package dev.roundhouse.simulation.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.traffic.Arrival;
import dev.roundhouse.simulation.traffic.Arrivals;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One model: a run takes 10 and 1 per row. */
class FixedBatcherTest {
  private static final Fleet FLEET =
      new Fleet(List.of(new FleetModel(0, "m", 1, List.of(1, 2, 4), new CostCurve(10, 1))));

  @Test
  void shouldRunAtOnceWhenTheBatchIsFull() {
    assertThat(new FixedBatcher(FLEET, 2, 1000, 13).serve(at(0, 1))).isEqualTo(2);
    assertThat(new FixedBatcher(FLEET, 2, 1000, 12).serve(at(0, 1))).isEqualTo(1);
  }

  @Test
  void shouldRunAfterTheDelayWhenTheBatchIsNotFull() {
    assertThat(new FixedBatcher(FLEET, 4, 5, 16).serve(at(0))).isEqualTo(1);
    assertThat(new FixedBatcher(FLEET, 4, 5, 15).serve(at(0))).isZero();
  }

  @Test
  void shouldPadToTheNextSizeWhenThreeWait() {
    assertThat(new FixedBatcher(FLEET, 4, 0, 25).serve(at(0, 1, 1, 1))).isEqualTo(4);
    assertThat(new FixedBatcher(FLEET, 4, 0, 23).serve(at(0, 1, 1, 1))).isEqualTo(1);
  }

  @Test
  void shouldDropWhoIsLateWhenABatchIsTaken() {
    assertThat(new FixedBatcher(FLEET, 1, 0, 22).serve(at(0, 0, 0, 12))).isEqualTo(3);
  }

  private static Arrivals at(long... nanos) {
    Iterator<Arrival> all = Arrays.stream(nanos).mapToObj(each -> new Arrival(each, 0)).iterator();
    return () -> all.hasNext() ? all.next() : null;
  }
}
