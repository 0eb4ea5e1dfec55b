package dev.roundhouse.devicecheck;

import dev.roundhouse.devicecheck.StepResult.End;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * All steps, one after the other, within a time for all of them. A step that hangs takes its own
 * time and no more; steps for which none is left are named and not run.
 */
record Programme(List<Step> steps, Duration limit, PrintWriter progress) {
  /** A JVM and a client need so long to start; less is not worth trying. */
  private static final Duration LEAST = Duration.ofSeconds(2);

  /** Runs them. */
  List<StepResult> run(StepProcess process) throws IOException, InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    List<StepResult> results = new ArrayList<>();
    for (Step step : steps) {
      progress.printf("[%d/%d] %s … ", results.size() + 1, steps.size(), step.name());
      progress.flush();
      Duration left = Duration.ofNanos(end - System.nanoTime());
      StepResult result =
          left.compareTo(LEAST) < 0
              ? notRun(step)
              : process.run(step, left.compareTo(step.limit()) < 0 ? left : step.limit());
      progress.printf("%s (%.1f s)%n", Report.summary(result), result.seconds());
      progress.flush();
      results.add(result);
    }
    return results;
  }

  private StepResult notRun(Step step) {
    return new StepResult(
        step.name(),
        End.NOT_RUN,
        0,
        "no time left of the %d s for all; give --limit more, or --steps %s"
            .formatted(limit.toSeconds(), step.name()),
        List.of(),
        List.of());
  }
}
