package dev.roundhouse.engine.model;

import dev.roundhouse.engine.schedule.CostEstimate;
import java.util.Comparator;
import java.util.List;

/** What the runs of a model cost, looked up by the rows of a request. Thread-safe. */
public final class RunCosts {
  private final CompiledProgram[][] byVariant;

  RunCosts(List<CompiledProgram> programs) {
    int variants = 1 + programs.stream().mapToInt(CompiledProgram::variant).max().orElse(0);
    byVariant = new CompiledProgram[variants][];
    for (int variant = 0; variant < variants; variant++) {
      int wanted = variant;
      byVariant[variant] =
          programs.stream()
              .filter(program -> program.variant() == wanted)
              .sorted(Comparator.comparingInt(CompiledProgram::batchSize))
              .toArray(CompiledProgram[]::new);
    }
  }

  /**
   * The least device time in which a request of so many rows can be expected to be answered: about
   * the 95th percentile of the smallest program that holds them, or of as many runs of the largest
   * as it takes.
   *
   * @param nowNanos figures that nothing has confirmed for {@code maxAgeNanos} before this are not
   *     held against a request
   * @return 0 when nothing is known for sure
   */
  public long leastNanos(int variant, int rows, long nowNanos, long maxAgeNanos) {
    CompiledProgram[] programs = byVariant[variant];
    CompiledProgram program = programs[programs.length - 1];
    for (CompiledProgram candidate : programs) {
      if (candidate.batchSize() >= rows) {
        program = candidate;
        break;
      }
    }
    long measured = program.cost().measuredNanos();
    if (measured == CostEstimate.NEVER || nowNanos - measured > maxAgeNanos) {
      return 0;
    }
    int runs = Math.max(1, Math.ceilDiv(rows, program.batchSize()));
    return runs * program.cost().highNanos();
  }
}
