package dev.roundhouse.simulation.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServiceGapTest {
  private final FleetModel a = model(0, 1);
  private final FleetModel b = model(1, 2);
  private final ServiceGap gap = new ServiceGap(List.of(a, b), 2);

  @Test
  void shouldKnowNoGapWhenModelsNeverWaitSideBySide() {
    gap.onRun(0, 10, new int[] {1, 0});
    gap.onRun(1, 10, new int[] {0, 1});
    assertThat(gap.ratio()).isNaN();
  }

  @Test
  void shouldWeighServiceWhenBothWait() {
    gap.onRun(0, 10, new int[] {3, 3});
    gap.onRun(0, 10, new int[] {2, 3});
    gap.onRun(1, 20, new int[] {1, 3});
    // a is ahead by 20, then by 20 - 20/2; the longest runs are 10/1 and 20/2.
    assertThat(gap.ratio()).isEqualTo(20.0 / 20);
  }

  @Test
  void shouldBeginAnewWhenOneStoppedWaiting() {
    gap.onRun(0, 10, new int[] {3, 3});
    gap.onRun(1, 20, new int[] {0, 3});
    gap.onRun(0, 10, new int[] {1, 3});
    assertThat(gap.ratio()).isEqualTo(10.0 / 20);
  }

  @Test
  void shouldBeginAnewWhenAQueueWasEmptiedInBetween() {
    gap.onRun(0, 10, new int[] {3, 3});
    gap.onEmptied(1);
    gap.onRun(0, 10, new int[] {2, 1});
    gap.onRun(1, 20, new int[] {1, 1});
    assertThat(gap.ratio()).isEqualTo(10.0 / 20);
  }

  private static FleetModel model(int index, double weight) {
    return new FleetModel(index, "m" + index, weight, List.of(1), new CostCurve(1, 0));
  }
}
