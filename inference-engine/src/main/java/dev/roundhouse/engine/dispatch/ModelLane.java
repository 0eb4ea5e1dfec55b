package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.BatchPlan;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatch thread keeps for one model: its queue, its programs made ready to run, and a
 * planner per shape variant.
 */
final class ModelLane {
  private final ServedModel model;
  private final ModelQueue queue = new ModelQueue();
  private final List<PreparedProgram> programs = new ArrayList<>();
  private final List<BatchPlanner> planners = new ArrayList<>();
  private final LeadingRun leadingRun = new LeadingRun();

  /** The last slice taken of a request that has more rows to run. */
  private @Nullable Slice lastPiece;

  ModelLane(ServedModel model, int rowCap) {
    this.model = model;
    model.programs().forEach(program -> programs.add(new PreparedProgram(model, program)));
    for (int variant = 0; variant < model.contract().variants().size(); variant++) {
      planners.add(new BatchPlanner(model.batchSizes(variant), rowCap));
    }
  }

  ServedModel model() {
    return model;
  }

  ModelQueue queue() {
    return queue;
  }

  List<PreparedProgram> programs() {
    return programs;
  }

  PreparedProgram program(int variant, int batchSize) {
    for (PreparedProgram program : programs) {
      if (program.variant() == variant && program.batchSize() == batchSize) {
        return program;
      }
    }
    throw new IllegalStateException(
        "model '%s' has no program for variant %d and batch size %d"
            .formatted(model.name(), variant, batchSize));
  }

  /**
   * Plans the batch that the front request leads.
   *
   * @param nowNanos requests whose deadline is not after this take no part
   */
  BatchPlan plan(long nowNanos) {
    InferenceRequest front = queue.get(0);
    BatchPlanner planner = planners.get(front.admitted().variant());
    boolean coalesce = model.spec().isCoalescable();
    leadingRun.measure(front.admitted().variant(), coalesce ? planner.largest() : 0, nowNanos);
    return planner.plan(leadingRun);
  }

  /** True when the front request is running already, with rows left that wait. */
  boolean hasBegun() {
    return begun() != null;
  }

  /**
   * Takes rows of the front request, which must have been claimed; the request leaves the queue
   * with its last row.
   *
   * @param atMost rows to take
   */
  Slice take(int atMost) {
    InferenceRequest front = queue.get(0);
    Slice before = begun();
    int first = before == null ? 0 : before.firstRow() + before.rows();
    Answer answer = before == null ? new Answer(this, front) : before.answer();
    Slice slice =
        new Slice(front, first, Math.min(atMost, front.admitted().rows() - first), answer);
    if (slice.isLast()) {
      queue.remove();
      lastPiece = null;
    } else {
      lastPiece = slice;
    }
    return slice;
  }

  private int rowsLeftOfFront() {
    int rows = queue.get(0).admitted().rows();
    Slice before = begun();
    return before == null ? rows : rows - before.firstRow() - before.rows();
  }

  private @Nullable Slice begun() {
    Slice last = lastPiece;
    return last != null && !queue.isEmpty() && last.request() == queue.get(0) ? last : null;
  }

  /** What a row of the batch that would run now is expected to cost the device, in nanoseconds. */
  double rowCostNanos(long nowNanos) {
    BatchPlan plan = plan(nowNanos);
    PreparedProgram program = program(queue.get(0).admitted().variant(), plan.batchSize());
    return Math.max(program.cost().meanNanos(), 1) / Math.max(plan.rows(), 1);
  }

  static boolean isLate(InferenceRequest request, long nowNanos) {
    return nowNanos >= request.deadlineNanos();
  }

  /**
   * The requests from the front that could share an execution; those already over count no rows.
   */
  private final class LeadingRun implements BatchPlanner.Rows {
    private int count;
    private long nowNanos;

    void measure(int variant, int enoughRows, long nowNanos) {
      this.nowNanos = nowNanos;
      int sum = rows(0);
      count = 1;
      while (count < queue.size()
          && sum < enoughRows
          && queue.get(count).admitted().variant() == variant) {
        sum += rows(count);
        count++;
      }
    }

    @Override
    public int count() {
      return count;
    }

    @Override
    public int rows(int position) {
      InferenceRequest request = queue.get(position);
      boolean over = request.state() == InferenceRequest.State.DONE || isLate(request, nowNanos);
      if (over) {
        return 0;
      }
      return position == 0 ? rowsLeftOfFront() : request.admitted().rows();
    }
  }
}
