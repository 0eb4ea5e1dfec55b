package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.lane.QueueDrops;
import dev.roundhouse.engine.layout.PreparedProgram;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.queue.Pieces;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.BatchPlan;

/**
 * Takes the rows that run next from a lane's queue, ends expired requests on the way, and puts back
 * the rows of a batch that will not run. Owned by the dispatch thread.
 */
public final class BatchFormer {
  private final QueueDrops ends;
  private final Lanes lanes;
  private final boolean shedsLate;

  /**
   * @param shedsLate drop a request as soon as its run can no longer end in time
   */
  public BatchFormer(QueueDrops ends, Lanes lanes, boolean shedsLate) {
    this.ends = ends;
    this.lanes = lanes;
    this.shedsLate = shedsLate;
  }

  /**
   * Fills a slot from the front of a lane's queue; it stays empty when nothing there can run.
   *
   * @param slot free
   */
  public void form(BatchSlot slot, ModelLane lane, long nowNanos) {
    ModelQueue queue = lane.queue();
    boolean judges = shedsLate && queue.earliestDeadlineNanos() != InferenceRequest.NO_DEADLINE;
    dropOver(lane, nowNanos, judges, 0);
    if (queue.isEmpty()) {
      return;
    }
    BatchPlan plan = plan(lane, nowNanos, judges);
    while (judges && dropLateAfter(runNanos(plan, lane, nowNanos), lane, nowNanos)) {
      if (queue.isEmpty()) {
        return;
      }
      plan = plan(lane, nowNanos, true);
    }
    slot.begin(lane, program(lane, plan));
    queue.beginBatch();
    try {
      for (int i = 0; i < plan.requests(); i++) {
        takeFront(slot, lane, plan.batchSize(), nowNanos, judges);
      }
    } finally {
      queue.endBatch();
    }
  }

  private static BatchPlan plan(ModelLane lane, long nowNanos, boolean judges) {
    BatchPlan plan = lane.plan(nowNanos, judges, Integer.MAX_VALUE);
    return judges ? mostInTime(plan, lane, nowNanos) : plan;
  }

  /**
   * The plan, of this and those for other programs, that answers the most requests in time per
   * device time. A batch shrinks for a member with little time only when that gains more than it
   * costs the others: shrinking for each makes every batch small, and a loaded device serves a
   * third fewer.
   */
  private static BatchPlan mostInTime(BatchPlan first, ModelLane lane, long nowNanos) {
    if (inTime(first, lane, nowNanos) == first.requests()) {
      return first;
    }
    int variant = lane.queue().get(0).variant();
    BatchPlan best = first;
    double most = served(first, lane, nowNanos);
    BatchPlan plan = first;
    for (int size = lane.sizeBelow(variant, first.batchSize());
        size > 0;
        size = lane.sizeBelow(variant, size)) {
      BatchPlan next = lane.plan(nowNanos, true, size);
      if (next.batchSize() >= plan.batchSize()) {
        break; // the front request needs that many rows
      }
      plan = next;
      double served = served(plan, lane, nowNanos);
      if (served >= most) {
        best = plan;
        most = served;
      }
    }
    // Rare, but a larger program may be quicker.
    for (int size = lane.sizeAbove(variant, first.batchSize());
        size > 0;
        size = lane.sizeAbove(variant, size)) {
      BatchPlan padded = new BatchPlan(size, first.requests(), first.rows());
      double served = served(padded, lane, nowNanos);
      if (served > most) {
        best = padded;
        most = served;
      }
    }
    return best;
  }

  /** Requests answered in time, for each nanosecond of the device. */
  private static double served(BatchPlan plan, ModelLane lane, long nowNanos) {
    return inTime(plan, lane, nowNanos) / (double) Math.max(1, runNanos(plan, lane, nowNanos));
  }

  /** Members that the plan's run answers in time, or that no run could answer in time. */
  private static int inTime(BatchPlan plan, ModelLane lane, long nowNanos) {
    long runNanos = runNanos(plan, lane, nowNanos);
    int inTime = 0;
    for (int i = 0; i < plan.requests(); i++) {
      QueuedRequest request = lane.queue().get(i);
      if (!ModelLane.isLateAfter(runNanos, request, nowNanos)
          || lane.isHopeless(request, nowNanos)) {
        inTime++;
      }
    }
    return inTime;
  }

  private static long runNanos(BatchPlan plan, ModelLane lane, long nowNanos) {
    return program(lane, plan).cost().confirmedHighNanos(nowNanos);
  }

  /**
   * Ends requests at the front that a run of this length answers too late; false when none. Later
   * ones stay in: their rows cost nothing, and the run may be quicker than expected.
   */
  private boolean dropLateAfter(long runNanos, ModelLane lane, long nowNanos) {
    ModelQueue queue = lane.queue();
    boolean dropped = false;
    while (!queue.isEmpty()) {
      QueuedRequest front = queue.get(0);
      if (front.hasBegun() || !ModelLane.isLateAfter(runNanos, front, nowNanos)) {
        break;
      }
      queue.remove();
      if (!front.isDone()) {
        ends.late(lane, front, nowNanos);
      }
      dropped = true;
    }
    return dropped;
  }

  private static PreparedProgram program(ModelLane lane, BatchPlan plan) {
    return lane.program(lane.queue().get(0).variant(), plan.batchSize());
  }

  private void takeFront(
      BatchSlot slot, ModelLane lane, int batchSize, long nowNanos, boolean judges) {
    QueuedRequest front = lane.queue().get(0);
    if (endIfOver(lane, front, nowNanos, judges, 0)) {
      return;
    }
    if (!front.hasBegun() && !front.take()) {
      lane.queue().remove(); // cancelled meanwhile
      return;
    }
    int first = front.rowsTaken();
    int count = Math.min(batchSize, front.rows() - first);
    slot.add(front, first, count);
    front.takeRows(count);
    if (count < front.rows() && front.pieces() == null) {
      front.beginPieces(new Pieces(nowNanos - front.arrivalNanos()));
    }
    if (first + count == front.rows()) {
      lane.queue().remove();
    }
  }

  /**
   * True when this request could change the batch: it has room for more rows, or the request goes
   * before one of its members or is for another model.
   */
  public boolean mayChange(BatchSlot slot, QueuedRequest request) {
    if (slot.isWarmUp()) {
      return false; // it runs as it is
    }
    ModelLane lane = slot.lane();
    return request.modelIndex() != lane.modelIndex()
        || request.isCommitted()
        || request.level() > 0
        || slot.live() < slot.size()
        || slot.rows() < lane.mostRows(slot.requireRequest(0).variant());
  }

  /**
   * True when a member has waited too long since the batch was made up, or a run that starts now
   * would answer it too late.
   */
  public boolean isTooLateForOne(BatchSlot slot, long nowNanos) {
    long runNanos = shedsLate ? slot.program().cost().confirmedHighNanos(nowNanos) : 0;
    for (int member = 0; member < slot.size(); member++) {
      QueuedRequest request = slot.request(member);
      if (request == null) {
        continue;
      }
      boolean hasWaited = slot.firstRow(member) == 0 && nowNanos >= request.queueDeadlineNanos();
      if (hasWaited || ModelLane.isLateAfter(runNanos, request, nowNanos)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Ends requests at the front that are over, or could not be answered in time by a run that begins
   * when the weights are there.
   *
   * @param loadNanos how long that takes
   */
  public void dropHopeless(ModelLane lane, long loadNanos, long nowNanos) {
    dropOver(lane, nowNanos, shedsLate, loadNanos);
  }

  /** Ends expired requests at the front, and puts those to be delayed behind the others. */
  private void dropOver(ModelLane lane, long nowNanos, boolean judges, long loadNanos) {
    ModelQueue queue = lane.queue();
    while (!queue.isEmpty()) {
      QueuedRequest front = queue.get(0);
      if (lane.isToBeDelayed(front, nowNanos) && !front.isDone()) {
        queue.delayFront();
      } else if (!endIfOver(lane, front, nowNanos, judges, loadNanos)) {
        return;
      }
    }
  }

  /** Ends the front request, and takes it out, if it is over; false when it is not. */
  private boolean endIfOver(
      ModelLane lane, QueuedRequest front, long nowNanos, boolean judges, long loadNanos) {
    if (front.isDone()) {
      lane.queue().remove();
    } else if (front.hasBegun() && front.isCancelRequested()) {
      lane.queue().remove();
      ends.cancelled(front);
    } else if (judges
        ? lane.isHopeless(front, nowNanos, loadNanos)
        : lane.isOverdue(front, nowNanos)) {
      lane.queue().remove();
      ends.late(lane, front, nowNanos);
    } else {
      return false;
    }
    return true;
  }

  /**
   * Puts the rows of an armed batch back to where they waited. The slot keeps them until it is
   * cleared or retakes them.
   */
  public void putBack(BatchSlot slot) {
    ModelLane lane = slot.lane();
    for (int member = slot.size() - 1; member >= 0; member--) {
      QueuedRequest request = slot.request(member);
      if (request == null || request.isDone()) {
        continue;
      }
      boolean leftTheQueue = request.rowsTaken() == request.rows();
      request.takeRows(-slot.rowCount(member));
      if (!request.hasBegun()) {
        request.putBack();
      }
      if (leftTheQueue) {
        lanes.putBack(lane, request);
      }
      if (request.isCancelRequested() && request.state() == State.QUEUED) {
        ends.cancelled(request); // its caller saw it in a batch, and leaves its end to this thread
      }
    }
  }
}
