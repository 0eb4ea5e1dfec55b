package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The bound of virtual time when batches are chosen before it is known what the ones before cost:
 * up to two are charged by an estimate, now and then one is taken back, and models come and go.
 */
class PipelinedTest {
  private static final int OPEN = 2; // charged and not corrected, when a choice is made
  private static final int CHOICES = 5_000;

  /** The widest gap between two that stay ready is at most c_i/w_i + c_j/w_j + 2 * OPEN * e. */
  @ParameterizedTest
  @CsvSource({"0,0,0", "0.5,0,0", "0.9,0.05,0", "0,0.1,0.05", "0.5,0.05,0.05", "5,0.05,0.05"})
  void shouldKeepTheGapWithinTheBoundWhenCostsAreEstimated(
      double error, double takenBack, double leaves) {
    for (long seed = 1; seed <= 4; seed++) {
      Toy toy = new Toy(seed, error, takenBack, leaves);
      for (int choice = 0; choice < CHOICES; choice++) {
        toy.choose();
      }
      toy.assertBound(seed);
    }
  }

  private static final class Toy {
    private final VirtualTime discipline = new VirtualTime();
    private final Random random;
    private final double error;
    private final double takenBack;
    private final double leaves;
    private final int models;
    private final double[] weights;
    private final long[] costs;
    private final boolean[] ready;
    private final double[] served;
    private final double[] longest;
    private final double[][] lowest;
    private final double[][] highest;
    private final double[][] widest;
    private final List<Batch> open = new ArrayList<>();
    private double largestError;
    private long now;

    Toy(long seed, double error, double takenBack, double leaves) {
      this.random = new Random(seed);
      this.error = error;
      this.takenBack = takenBack;
      this.leaves = leaves;
      models = 2 + random.nextInt(6);
      weights = new double[models];
      costs = new long[models];
      ready = new boolean[models];
      served = new double[models];
      longest = new double[models];
      lowest = new double[models][models];
      highest = new double[models][models];
      widest = new double[models][models];
      for (int slot = 0; slot < models; slot++) {
        weights[slot] = 0.5 * (1 + random.nextInt(16));
        costs[slot] = 1_000_000L * (1 + random.nextInt(50));
        discipline.register(slot, weights[slot]);
        join(slot);
      }
    }

    void choose() {
      while (open.size() > OPEN) {
        correct(0);
      }
      int slot = discipline.choose();
      boolean runs = random.nextDouble() >= takenBack;
      long truth = runs ? Math.round(costs[slot] * random.nextDouble()) : 0;
      double wrong = error * (2 * random.nextDouble() - 1);
      long estimate = runs ? Math.max(0, Math.round(truth * (1 + wrong))) : costs[slot];
      now += truth;
      discipline.charge(slot, estimate, now);
      open.add(new Batch(slot, estimate, truth));
      largestError = Math.max(largestError, Math.abs(estimate - truth) / weights[slot]);
      served[slot] += truth / weights[slot];
      longest[slot] = Math.max(longest[slot], truth / weights[slot]);
      compare();
      if (!runs) {
        correct(open.size() - 1); // while the one before still runs
      }
      discipline.ready(slot, front());
      comeAndGo();
    }

    private void comeAndGo() {
      for (int slot = 2; slot < models; slot++) {
        if (random.nextDouble() < leaves) {
          if (ready[slot]) {
            ready[slot] = false;
            discipline.notReady(slot);
          } else {
            join(slot);
          }
        }
      }
    }

    private void join(int slot) {
      ready[slot] = true;
      discipline.ready(slot, front());
      for (int other = 0; other < models; other++) {
        lowest[slot][other] = highest[slot][other] = served[slot] - served[other];
        lowest[other][slot] = highest[other][slot] = served[other] - served[slot];
      }
    }

    private void correct(int index) {
      Batch batch = open.remove(index);
      discipline.correct(batch.slot(), batch.estimate(), batch.truth(), now);
    }

    private void compare() {
      for (int i = 0; i < models; i++) {
        for (int j = 0; j < models; j++) {
          if (ready[i] && ready[j]) {
            double gap = served[i] - served[j];
            lowest[i][j] = Math.min(lowest[i][j], gap);
            highest[i][j] = Math.max(highest[i][j], gap);
            widest[i][j] = Math.max(widest[i][j], highest[i][j] - lowest[i][j]);
          }
        }
      }
    }

    void assertBound(long seed) {
      for (int i = 0; i < models; i++) {
        for (int j = 0; j < models; j++) {
          if (i != j) {
            double bound = longest[i] + longest[j] + 2 * OPEN * largestError;
            assertThat(widest[i][j])
                .as("seed %d: gap of %d and %d", seed, i, j)
                .isLessThanOrEqualTo(bound * (1 + 1e-9));
          }
        }
      }
    }

    private Discipline.Front front() {
      return new Discipline.Front(now, Long.MAX_VALUE, 1);
    }
  }

  private record Batch(int slot, long estimate, long truth) {}
}
