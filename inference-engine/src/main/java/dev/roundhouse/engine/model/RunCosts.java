package dev.roundhouse.engine.model;

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
   * @return 0 when nothing has confirmed the figure of late
   */
  public long leastNanos(int variant, int rows, long nowNanos) {
    CompiledProgram[] programs = byVariant[variant];
    CompiledProgram program = programs[programs.length - 1];
    for (CompiledProgram candidate : programs) {
      if (candidate.batchSize() >= rows) {
        program = candidate;
        break;
      }
    }
    int runs = Math.max(1, Math.ceilDiv(rows, program.batchSize()));
    return runs * program.cost().confirmedHighNanos(nowNanos);
  }
}
