package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The requests at the front of a queue that could run together. Those that are over, or that no
 * program could answer in time, are among them with no rows. One serves all lanes, a plan at a
 * time.
 */
final class CoalescablePrefix implements BatchPlanner.Rows {
  private @Nullable ModelLane lane;
  private @Nullable ModelQueue queue;
  private int count;
  private int sum;
  private long nowNanos;
  private boolean shedsLate;

  /**
   * Looks at a lane's queue, which is not empty.
   *
   * @param enoughRows rows after which nothing more need be looked at
   * @param judges true to leave out those that no program could answer in time
   */
  void measure(ModelLane of, int enoughRows, long now, boolean judges) {
    lane = of;
    ModelQueue waiting = of.queue();
    queue = waiting;
    nowNanos = now;
    shedsLate = judges;
    sum = rows(0);
    count = 1;
    int variant = waiting.get(0).variant();
    while (count < waiting.size() && sum < enoughRows && waiting.get(count).variant() == variant) {
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
    QueuedRequest request = Objects.requireNonNull(queue).get(position);
    return takesPart(request) ? request.rows() - request.rowsTaken() : 0;
  }

  private boolean takesPart(QueuedRequest request) {
    if (request.isDone()) {
      return false;
    }
    ModelLane of = Objects.requireNonNull(lane);
    return shedsLate ? !of.isHopeless(request, nowNanos) : !of.isOverdue(request, nowNanos);
  }
}
