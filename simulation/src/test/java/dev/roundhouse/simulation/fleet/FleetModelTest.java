package dev.roundhouse.simulation.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FleetModelTest {
  private final FleetModel model =
      new FleetModel(0, "m", 1, List.of(1, 4, 16), new CostCurve(100, 1));

  @ParameterizedTest
  @CsvSource({"1, 101", "2, 104", "4, 104", "5, 116", "16, 116", "17, 217", "32, 232", "36, 336"})
  void shouldCostThePiecesItRunsInWhenACallIsAlone(int rows, long nanos) {
    assertThat(model.nanosAlone(rows)).isEqualTo(nanos);
  }
}
