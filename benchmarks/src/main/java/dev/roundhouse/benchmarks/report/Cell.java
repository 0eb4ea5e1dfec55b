package dev.roundhouse.benchmarks.report;

import dev.roundhouse.measure.Comparison;
import org.jspecify.annotations.Nullable;

/**
 * One result.
 *
 * @param bench what measured it
 * @param cell what was measured, against whom, in which condition
 * @param unit of ours and of the peer's figure
 * @param goal null when the figure only explains another one
 */
public record Cell(
    String bench, String cell, Comparison figures, String unit, @Nullable Goal goal) {

  /** Null without a goal, or without a peer. */
  @Nullable Boolean met() {
    return goal == null || figures.isAlone() ? null : goal.metBy(figures.ratio());
  }
}
