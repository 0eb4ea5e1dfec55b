package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The requests from the front of a queue that could share an execution; those that are over, or
 * would be answered too late, count no rows. One serves all lanes, a plan at a time. Owned by the
 * dispatch thread.
 */
final class LeadingRun implements BatchPlanner.Rows {
  private @Nullable ModelQueue queue;
  private int count;
  private int sum;
  private long nowNanos;
  private long marginNanos;

  /**
   * Looks at a queue, which is not empty.
   *
   * @param enoughRows rows after which nothing more need be looked at
   * @param marginNanos how long the run may take
   */
  void measure(ModelQueue of, int enoughRows, long now, long margin) {
    queue = of;
    nowNanos = now;
    marginNanos = margin;
    sum = rows(0);
    count = 1;
    int variant = of.get(0).variant();
    while (count < of.size() && sum < enoughRows && of.get(count).variant() == variant) {
      sum += rows(count);
      count++;
    }
  }

  /** Rows of them all, or the first sum that is enough. */
  int sum() {
    return sum;
  }

  @Override
  public int count() {
    return count;
  }

  @Override
  public int rows(int position) {
    InferenceRequest request = Objects.requireNonNull(queue).get(position);
    boolean over = request.state() == InferenceRequest.State.DONE;
    return over || isLate(request, nowNanos, marginNanos)
        ? 0
        : request.rows() - request.rowsTaken();
  }

  /**
   * True when a run that starts now and takes {@code marginNanos} would answer too late. A meta's
   * call is let try: others of its run's calls have been answered already.
   */
  static boolean isLate(InferenceRequest request, long nowNanos, long marginNanos) {
    return nowNanos + (request.isCommitted() ? 0 : marginNanos) >= request.deadlineNanos();
  }
}
