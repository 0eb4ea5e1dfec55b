package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.ModelReport.ProgramReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.schedule.Discipline.Standing;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * One model as {@code /actuator/models} shows it; {@code docs/actuator.md} says what each field
 * means.
 */
@JsonInclude // null says that something is not known
public record ModelDetails(
    String name,
    String version,
    String state,
    String reason,
    @Nullable Double weight,
    @Nullable Double share,
    @Nullable Double deficit,
    @Nullable Boolean held,
    @Nullable String unknownBecause,
    int queueDepth,
    double oldestWaitMicros,
    @Nullable WaitingDetails waiting,
    int maxBatchSize,
    double loadSeconds,
    RequestCounts requests,
    RunCounts runs,
    long weightBytes,
    List<Program> programs,
    @Nullable ModelHistory history) {

  /** One of many. */
  static ModelDetails of(ModelReport report, DispatchSnapshot dispatch) {
    return of(report, dispatch, null);
  }

  static ModelDetails of(
      ModelReport report, DispatchSnapshot dispatch, @Nullable ModelHistory history) {
    String name = report.status().name();
    LaneState lane = dispatch.lanes().get(name);
    Standing standing = lane == null ? null : lane.standing();
    return new ModelDetails(
        name,
        report.status().version(),
        report.status().state().name(),
        report.status().reason(),
        lane == null ? null : lane.weight(),
        lane == null || standing == null || dispatch.idles(lane) ? null : standing.share(),
        standing == null ? null : standing.deficit(),
        lane == null ? null : lane.held(),
        dispatch.whyUnknown(name, report.status().isReady()),
        report.waiting(),
        oldestWaitMicros(report),
        WaitingDetails.of(lane == null ? null : lane.waiting(), report.waitsFor()),
        report.status().maxBatchSize(),
        report.status().loadNanos() / 1e9,
        RequestCounts.of(metric -> report.counts().getOrDefault(metric, 0L)),
        RunCounts.of(metric -> report.counts().getOrDefault(metric, 0L)),
        report.weightBytes(),
        report.programs().stream().map(Program::of).toList(),
        history);
  }

  /** A cancelled request keeps its place at the front until the dispatch thread passes by. */
  static double oldestWaitMicros(ModelReport report) {
    return report.waiting() == 0 ? 0 : report.oldestWaitNanos() / 1e3;
  }

  /** One program: what a run costs, and its part of the batches histogram. */
  @JsonInclude
  public record Program(
      int variant,
      int batchSize,
      double meanMicros,
      double highMicros,
      long runs,
      long rows,
      @Nullable Double meanFill) {

    static Program of(ProgramReport program) {
      long room = program.runs() * Math.max(1, program.batchSize());
      return new Program(
          program.variant(),
          program.batchSize(),
          program.meanNanos() / 1e3,
          Math.max(program.highNanos(), program.meanNanos()) / 1e3,
          program.runs(),
          program.rows(),
          room == 0 ? null : (double) program.rows() / room);
    }
  }

  /** Executions, and what they were spent on. */
  public record RunCounts(
      long executions,
      long rows,
      long paddingRows,
      long positions,
      long paddingPositions,
      long inputBytes,
      long outputBytes,
      double computeSeconds,
      double queueWaitSeconds) {

    static RunCounts of(ToLongFunction<Metric> counts) {
      return new RunCounts(
          counts.applyAsLong(Metric.EXECUTIONS),
          counts.applyAsLong(Metric.ROWS),
          counts.applyAsLong(Metric.PADDING_ROWS),
          counts.applyAsLong(Metric.POSITIONS),
          counts.applyAsLong(Metric.PADDING_POSITIONS),
          counts.applyAsLong(Metric.INPUT_BYTES),
          counts.applyAsLong(Metric.OUTPUT_BYTES),
          counts.applyAsLong(Metric.COMPUTE) / 1e9,
          counts.applyAsLong(Metric.QUEUE_WAIT) / 1e9);
    }
  }
}
