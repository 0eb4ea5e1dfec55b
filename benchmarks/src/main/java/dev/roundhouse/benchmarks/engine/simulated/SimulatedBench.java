package dev.roundhouse.benchmarks.engine.simulated;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.simulation.study.CoalescingStudy;
import dev.roundhouse.simulation.study.FairnessStudy;
import dev.roundhouse.simulation.study.IdleStudy;
import dev.roundhouse.simulation.study.OverloadStudy;
import dev.roundhouse.simulation.study.Point;
import dev.roundhouse.simulation.study.Study;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Prints a study of the simulation. There is nothing to repeat: a figure has no spread.
 *
 * @param study what is found out
 * @param length simulated time of each simulation
 * @param quick the same, of a quick run
 */
public record SimulatedBench(Study study, Duration length, Duration quick) implements Bench {
  private static final Duration LENGTH = Duration.ofSeconds(60);
  private static final Duration QUICK = Duration.ofSeconds(10);

  /** Those of the engine. */
  public static final List<Bench> ALL =
      List.of(
          new SimulatedBench(new CoalescingStudy()),
          new SimulatedBench(new FairnessStudy()),
          new SimulatedBench(new IdleStudy()),
          new SimulatedBench(new OverloadStudy()));

  public SimulatedBench {
    Objects.requireNonNull(study);
    Objects.requireNonNull(length);
    Objects.requireNonNull(quick);
  }

  private SimulatedBench(Study study) {
    this(study, LENGTH, QUICK);
  }

  @Override
  public String name() {
    return study.name();
  }

  @Override
  public String about() {
    return study.about();
  }

  @Override
  public void run(BenchRun run) {
    Duration each = run.quick() ? quick : length;
    run.say("%s: simulations of %d s each", name(), each.toSeconds());
    study.run(each, point -> run.cells().accept(cell(point)));
  }

  private Cell cell(Point point) {
    double ratio = point.ratio();
    return new Cell(
        name(),
        point.cell(),
        new Comparison(point.ours(), point.other(), ratio, ratio, ratio),
        point.unit(),
        goal(point.goal()));
  }

  private static @Nullable Goal goal(Point.@Nullable Goal goal) {
    return switch (goal) {
      case null -> null;
      case Point.Goal.AtLeast(double limit) -> Goal.atLeast(limit);
      case Point.Goal.AtMost(double limit) -> Goal.atMost(limit);
    };
  }
}
