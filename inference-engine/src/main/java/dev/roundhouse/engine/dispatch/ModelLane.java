package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.BatchPlan;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatch thread keeps for one model: its queue, its programs made ready to run, and a
 * planner per shape variant.
 */
final class ModelLane {
  private final ServedModel model;

  // What every batch needs, without a look at the model: with many models each look misses caches.
  private final int slot;
  private final String version;
  private final ModelCounters counters;

  private final ModelQueue queue = new ModelQueue();
  private final PreparedProgram[][] programs; // by variant
  private final BatchPlanner[] planners; // by variant

  private final boolean coalesces;
  private long maxQueueDelayNanos;
  private double weight;
  private final LeadingRun leadingRun;
  private @Nullable Map<InferenceRequest, PiecewiseAnswer> pieces;

  /** True while the lane stands in the list of those whose place is to be found again. */
  private boolean changed;

  ModelLane(ServedModel model, LaneOptions options, SharedParts layouts) {
    this.model = model;
    slot = model.slot();
    version = model.version();
    counters = model.counters();
    leadingRun = layouts.leadingRun();
    coalesces = model.spec().isCoalescable();
    maxQueueDelayNanos = options.maxQueueDelayNanos();
    weight = options.weight();
    int variants = model.contract().variants().size();
    programs = new PreparedProgram[variants][];
    planners = new BatchPlanner[variants];
    for (int variant = 0; variant < variants; variant++) {
      planners[variant] = layouts.planner(model.batchSizes(variant), options.rowCap());
      List<PreparedProgram> own = new ArrayList<>();
      for (CompiledProgram program : model.programs()) {
        if (program.variant() == variant) {
          own.add(new PreparedProgram(model, program, layouts.of(model.spec(), program)));
        }
      }
      programs[variant] = own.toArray(PreparedProgram[]::new);
    }
  }

  ServedModel model() {
    return model;
  }

  int slot() {
    return slot;
  }

  /** What responses carry. */
  String version() {
    return version;
  }

  /** Share of the device relative to other models. */
  double weight() {
    return weight;
  }

  void setWeight(double other) {
    weight = other;
  }

  ModelCounters counters() {
    return counters;
  }

  /** One for each shape variant. */
  BatchPlanner[] planners() {
    return planners;
  }

  ModelQueue queue() {
    return queue;
  }

  List<PreparedProgram> programs() {
    List<PreparedProgram> all = new ArrayList<>();
    for (PreparedProgram[] own : programs) {
      all.addAll(List.of(own));
    }
    return all;
  }

  PreparedProgram program(int variant, int batchSize) {
    for (PreparedProgram program : programs[variant]) {
      if (program.batchSize() == batchSize) {
        return program;
      }
    }
    throw new IllegalStateException(
        "model '%s' has no program for variant %d and batch size %d"
            .formatted(model.name(), variant, batchSize));
  }

  /** Programs of the front request's variant for fewer rows, largest first. */
  List<PreparedProgram> smallerThan(PreparedProgram program) {
    return Arrays.stream(programs[queue.get(0).variant()])
        .filter(other -> other.batchSize() < program.batchSize())
        .sorted(Comparator.comparingInt(PreparedProgram::batchSize).reversed())
        .toList();
  }

  /** Marks that the lane's place is to be found again; false when it was marked already. */
  boolean markChanged() {
    boolean first = !changed;
    changed = true;
    return first;
  }

  void placeFound() {
    changed = false;
  }

  /**
   * Plans the batch that the front request leads.
   *
   * @param marginNanos how long its run may take: requests that it would answer too late take no
   *     part
   * @param mostRows of several requests together
   */
  BatchPlan plan(long nowNanos, long marginNanos, int mostRows) {
    InferenceRequest front = queue.get(0);
    if (queue.size() == 1 && front.rows() == 1 && marginNanos == 0) {
      return planners[front.variant()].planSingleRows(1);
    }
    return planByLooking(nowNanos, marginNanos, mostRows);
  }

  /** As {@link #plan}, with the leading run measured for certain. */
  private BatchPlan planByLooking(long nowNanos, long marginNanos, int mostRows) {
    BatchPlanner planner = planners[queue.get(0).variant()];
    leadingRun.measure(queue, coalesces ? planner.largest() : 0, nowNanos, marginNanos);
    return planner.plan(leadingRun, mostRows);
  }

  /** Holds no batch any more. */
  void stopHolding() {
    maxQueueDelayNanos = 0;
  }

  /** True when batches may be held for more requests. */
  boolean holds() {
    return maxQueueDelayNanos > 0 && coalesces;
  }

  /**
   * Until when the batch that the front request leads may be held: as long as it could still become
   * larger, no longer than the delay allowed, and not past the latest start that meets the deadline
   * of everyone who waits, even if one run of another model must be waited for first.
   *
   * @param othersNanos how long that run may take
   * @return a moment in the past when it is to run at once
   */
  long heldUntilNanos(long othersNanos) {
    InferenceRequest front = queue.get(0);
    if (!holds() || front.isCommitted() || front.rowsTaken() > 0) {
      return Long.MIN_VALUE;
    }
    BatchPlan plan = planByLooking(Long.MIN_VALUE, 0, Integer.MAX_VALUE);
    boolean canGrow =
        leadingRun.count() == queue.size()
            && leadingRun.sum() < planners[front.variant()].mostRows();
    if (!canGrow) {
      return Long.MIN_VALUE;
    }
    long delayed = front.arrivalNanos() + maxQueueDelayNanos;
    long deadline = queue.earliestDeadlineNanos();
    if (deadline == InferenceRequest.NO_DEADLINE) {
      return delayed;
    }
    long ownNanos = program(front.variant(), plan.batchSize()).cost().highNanos();
    return Math.min(delayed, deadline - 1 - ownNanos - othersNanos);
  }

  /**
   * Takes rows of the front request, which must have been claimed, into a batch; the request leaves
   * the queue with its last row.
   *
   * @param atMost rows to take
   */
  void take(Batch batch, int atMost, long nowNanos) {
    InferenceRequest front = queue.get(0);
    int first = front.rowsTaken();
    int count = Math.min(atMost, front.rows() - first);
    batch.add(front, first, count);
    front.takeRows(count);
    if (count < front.rows() && first == 0) {
      begin(front, nowNanos);
    }
    if (first + count == front.rows()) {
      queue.remove();
    }
  }

  private void begin(InferenceRequest request, long nowNanos) {
    if (pieces == null) {
      pieces = new IdentityHashMap<>();
    }
    pieces.put(request, new PiecewiseAnswer(nowNanos - request.arrivalNanos()));
  }

  /** Where the pieces of a request are gathered. */
  PiecewiseAnswer pieces(InferenceRequest request) {
    PiecewiseAnswer answer = pieces == null ? null : pieces.get(request);
    if (answer == null) {
      throw new IllegalStateException("request '" + request.id() + "' does not run piece by piece");
    }
    return answer;
  }

  /** Lets go of what has been gathered for a request. */
  void forgetPieces(InferenceRequest request) {
    if (pieces != null) {
      pieces.remove(request);
    }
  }

  /**
   * What a row of the batch that would run now is expected to cost the device, in nanoseconds. A
   * cancelled request counts as waiting until the loop meets it.
   */
  double rowCostNanos() {
    int variant = queue.get(0).variant();
    BatchPlan plan =
        planners.length == 1 && coalesces && queue.hasOnlySingleRows()
            ? planners[variant].planSingleRows(queue.size())
            : plan(Long.MIN_VALUE, 0, Integer.MAX_VALUE);
    double mean = program(variant, plan.batchSize()).cost().meanNanos();
    return Math.max(mean, 1) / Math.max(plan.rows(), 1);
  }
}
