package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class QueueSharesTest {
  private final QueueShares shares = new QueueShares();

  @Test
  void shouldNotCountRequestsOfNobody() {
    int cell = shares.cell(QueueShares.NO_CALLER, 3);
    assertThat(cell).isEqualTo(QueueShares.NOT_COUNTED);
    shares.enter(cell);
    shares.leave(cell);
    assertThat(shares.depth(cell, 64)).isEqualTo(64);
  }

  @Test
  void shouldCountCallersAndModelsApart() {
    Set<Integer> cells = new HashSet<>();
    for (int caller = 1; caller <= 20; caller++) {
      for (int model = 0; model < 10; model++) {
        cells.add(shares.cell(caller, model));
      }
    }
    assertThat(cells).as("of 200, in 4,096 places").hasSizeGreaterThan(190);
  }

  @Test
  void shouldKeepAnEighthMoreForCallersWithAlmostNothingOpen() {
    int cell = shares.cell(1, 0);
    assertThat(shares.depth(cell, 128)).isEqualTo(144);
    shares.enter(cell);
    assertThat(shares.depth(cell, 128)).as("one of 128").isEqualTo(144);
    shares.enter(cell);
    assertThat(shares.depth(cell, 128)).as("two of 128").isEqualTo(128);
    shares.leave(cell);
    assertThat(shares.depth(cell, 128)).isEqualTo(144);
    assertThat(shares.depth(cell, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
    int other = shares.cell(2, 0);
    assertThat(shares.depth(other, 1)).as("one at least").isEqualTo(2);
  }
}
