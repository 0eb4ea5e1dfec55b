package dev.roundhouse.engine.request;

import java.util.List;

/**
 * How an answer came about, beside its {@link Outcome.Timings}; made only of requests that ask for
 * it.
 *
 * @param weightsCame whether its weights, or those of what it called, had to be brought to the
 *     device while it waited
 * @param loadNanos how long they had the link, or shared it; 0 when they were there
 * @param paddingPositions of its batch's first padded input, in rows of requests
 * @param ahead whose runs it waited for, those with most device time first, a few of them; since
 *     the latest 256 runs, as nothing older is kept
 * @param calls made to answer it, in the order in which they ended, the first few of them
 * @param callCount how many there were
 */
public record Receipt(
    boolean weightsCame,
    long loadNanos,
    long paddingPositions,
    List<Ahead> ahead,
    List<Call> calls,
    int callCount) {

  /**
   * Runs of one model that were on the device while the request waited.
   *
   * @param nanos of device time, all together
   */
  public record Ahead(String model, int runs, long nanos) {}

  /**
   * A call of another model, or of the model's own programs.
   *
   * @param end COMPLETED, or how it ended without an answer
   */
  public record Call(
      String model,
      String version,
      String end,
      long totalNanos,
      long queueNanos,
      long computeNanos,
      int batchRows,
      boolean weightsCame,
      long loadNanos) {

    /** What is told of a call that has ended. */
    public static Call of(CallReport report) {
      long total = report.endNanos() - report.startNanos();
      return switch (report.outcome()) {
        case Outcome.Completed(String version, Outcome.Timings took, Receipt own) ->
            new Call(
                report.model(),
                version,
                "COMPLETED",
                total,
                took.queueNanos(),
                took.computeNanos(),
                took.batchRows(),
                own != null && own.weightsCame,
                own == null ? 0 : own.loadNanos);
        case Outcome.Refused refused -> unanswered(report.model(), refused.status().name(), total);
        case Outcome.Failed failed -> unanswered(report.model(), failed.status().name(), total);
        case Outcome.Shed shed -> unanswered(report.model(), shed.status().name(), total);
        case Outcome.Cancelled cancelled ->
            unanswered(report.model(), Status.CANCELLED.name(), total);
      };
    }

    private static Call unanswered(String model, String end, long totalNanos) {
      return new Call(model, "", end, totalNanos, 0, 0, 0, false, 0);
    }
  }
}
