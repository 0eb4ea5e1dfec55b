package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.BatchPlan;

/**
 * Takes the requests that run next out of a lane's queue, and ends those that it meets there whose
 * time is over. Owned by the dispatch thread.
 */
final class BatchFormer {
  private final Endings endings;
  private final boolean shedsByCost;

  /**
   * @param shedsByCost drop a request as soon as its run could not end in time any more
   */
  BatchFormer(Endings endings, boolean shedsByCost) {
    this.endings = endings;
    this.shedsByCost = shedsByCost;
  }

  /**
   * Fills a batch from the front of a lane's queue; it stays empty when nothing there can run.
   *
   * @param batch cleared
   */
  void form(Batch batch, ModelLane lane, long nowNanos) {
    dropOver(lane, nowNanos);
    if (lane.queue().isEmpty()) {
      return;
    }
    BatchPlan plan = lane.plan(nowNanos, 0, Integer.MAX_VALUE);
    PreparedProgram program = program(lane, plan);
    boolean deadlines = lane.queue().earliestDeadlineNanos() != InferenceRequest.NO_DEADLINE;
    long marginNanos = deadlines ? margin(program, nowNanos) : 0;
    if (marginNanos > 0) {
      // Whoever this run would answer too late takes no part, so that no row is run for nothing.
      plan = lane.plan(nowNanos, marginNanos, Integer.MAX_VALUE);
      if (plan.rows() == 0) {
        // Nobody is left: a smaller, quicker run may still be in time for some.
        for (PreparedProgram smaller : lane.smallerThan(program)) {
          long smallerNanos = margin(smaller, nowNanos);
          BatchPlan other = lane.plan(nowNanos, smallerNanos, smaller.batchSize());
          if (other.rows() > 0 && other.batchSize() == smaller.batchSize()) {
            plan = other;
            marginNanos = smallerNanos;
            break;
          }
        }
      }
      program = program(lane, plan);
    }
    batch.begin(lane, program, nowNanos);
    for (int i = 0; i < plan.requests(); i++) {
      claimFront(batch, lane, plan.batchSize(), nowNanos, marginNanos);
    }
  }

  /** How long a run may take; 0 when that is not to be held against anybody. */
  private long margin(PreparedProgram program, long nowNanos) {
    return shedsByCost ? program.cost().confirmedHighNanos(nowNanos) : 0;
  }

  private static PreparedProgram program(ModelLane lane, BatchPlan plan) {
    return lane.program(lane.queue().get(0).variant(), plan.batchSize());
  }

  private void claimFront(
      Batch batch, ModelLane lane, int batchSize, long nowNanos, long marginNanos) {
    ModelQueue queue = lane.queue();
    InferenceRequest front = queue.get(0);
    boolean begun = front.rowsTaken() > 0;
    if (begun && front.isCancelRequested()) {
      queue.remove();
      endings.cancelled(lane, front);
    } else if (ModelLane.isLate(front, nowNanos, marginNanos)) {
      queue.remove();
      endings.late(lane, front, nowNanos);
    } else if (begun || front.start()) {
      if (!begun) {
        lane.counters().leaveOnDispatch();
      }
      lane.take(batch, batchSize, nowNanos);
    } else {
      queue.remove(); // cancelled meanwhile
    }
  }

  /** Removes requests at the front that are cancelled or can no longer be answered in time. */
  private void dropOver(ModelLane lane, long nowNanos) {
    ModelQueue queue = lane.queue();
    queue.dropEnded();
    while (!queue.isEmpty() && ModelLane.isLate(queue.get(0), nowNanos, 0)) {
      endings.late(lane, queue.remove(), nowNanos);
      queue.dropEnded();
    }
  }
}
