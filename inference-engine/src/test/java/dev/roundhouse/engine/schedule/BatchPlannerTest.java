package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BatchPlannerTest {

  /** ReactantServer's vectors, and the edges between them. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // sizes | cap | queued rows | batch, requests, rows
        "1,4,8 |  0 | 2,2,2             | 4,2,4",
        "4,8   |  0 | 1                 | 4,1,1",
        "1,4,8 |  0 | 6,1               | 8,2,7",
        "1,4,8 |  4 | 2,2,2,2           | 4,2,4",
        "4,8   |  2 | 1,1,1             | 4,2,2",
        "1,4,8 |  2 | 6                 | 8,1,6",
        "1,4,8 |  0 | 1                 | 1,1,1",
        "1,4,8 |  0 | 1,1,1             | 1,1,1",
        "1,4,8 |  0 | 1,1,1,1           | 4,4,4",
        "1,4,8 |  0 | 1,1,1,1,1,1,1,1,1 | 8,8,8",
        "8,4,1 |  0 | 3                 | 4,1,3",
        "1,4   |  0 | 4,4               | 4,1,4",
        "1,4   |  0 | 9,1               | 4,1,4",
        "1,4   |  2 | 9                 | 4,1,4",
      })
  void shouldPlanAsReactantServerDoes(String sizes, int cap, String rows, String expected) {
    BatchPlanner planner = new BatchPlanner(ints(sizes), cap == 0 ? Integer.MAX_VALUE : cap);
    int[] plan = ints(expected);
    assertThat(planner.plan(BatchPlanner.Rows.of(ints(rows))))
        .isEqualTo(new BatchPlan(plan[0], plan[1], plan[2]));
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13})
  void shouldAlwaysTakeTheFrontAndNeverOverfillTheBatch(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      int[] sizes = random.ints(1 + random.nextInt(4), 1, 65).distinct().toArray();
      int largest = Arrays.stream(sizes).max().orElseThrow();
      int[] rows = random.ints(1 + random.nextInt(10), 1, largest + 1).toArray();
      int cap = random.nextBoolean() ? Integer.MAX_VALUE : 1 + random.nextInt(70);
      BatchPlan plan = new BatchPlanner(sizes, cap).plan(BatchPlanner.Rows.of(rows));
      String what =
          "seed " + seed + " sizes " + Arrays.toString(sizes) + " rows " + Arrays.toString(rows);
      assertThat(sizes).as(what).contains(plan.batchSize());
      assertThat(plan.requests()).as(what).isBetween(1, rows.length);
      assertThat(plan.rows()).as(what).isEqualTo(Arrays.stream(rows, 0, plan.requests()).sum());
      assertThat(plan.rows()).as(what).isLessThanOrEqualTo(plan.batchSize());
      if (plan.requests() > 1) {
        assertThat(plan.rows()).as(what).isLessThanOrEqualTo(cap);
      }
    }
  }

  @Test
  void shouldRefuseToPlanWithoutACompiledSize() {
    assertThatThrownBy(() -> new BatchPlanner(new int[0], 1)).hasMessageContaining("compiled size");
  }

  private static int[] ints(String list) {
    return Arrays.stream(list.split(",")).map(String::strip).mapToInt(Integer::parseInt).toArray();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 4, 7, 8, 9, 40})
  void shouldPlanSingleRowsAsIfEachHadBeenLookedAt(int count) {
    for (int cap : new int[] {1, 2, 5, 8, Integer.MAX_VALUE}) {
      BatchPlanner planner = new BatchPlanner(new int[] {4, 8, 16}, cap);
      int[] rows = new int[count];
      Arrays.fill(rows, 1);
      assertThat(planner.planSingleRows(count))
          .as("cap %d", cap)
          .isEqualTo(planner.plan(BatchPlanner.Rows.of(rows)));
    }
  }
}
