package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.layout.PreparedProgram;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.residency.ModelWeights;
import dev.roundhouse.engine.schedule.BatchPlan;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.ArrayList;
import java.util.List;

/**
 * What the dispatch thread keeps for one model version: its queue, its programs made ready to run,
 * and a planner per shape variant.
 */
public final class ModelLane {
  private static final long NEVER = Long.MIN_VALUE;

  private final ProgramModel model;

  // What every batch needs, without a look at the model: with many models each look misses caches.
  private final int modelIndex;
  private final String version;
  private final ModelCounters counters;

  private final ModelQueue queue;
  private final PreparedProgram[][] programs; // by variant, ascending
  private final BatchPlanner[] planners; // by variant

  /** True when requests of it can share an execution. */
  private final boolean coalesces;

  private final boolean delaysLate;
  private long maxQueueDelayNanos;
  private double weight;
  private final CoalescablePrefix candidates;

  private final ModelWeights weights;

  /** True while the lane stands in the list of those whose place is to be found again. */
  private boolean dirty;

  /** True while its weights are on their way to the device. */
  private boolean loading;

  private long arrivedNanos = NEVER;
  private long loadNanos;

  public ModelLane(ProgramModel model, LaneOptions options, SharedParts shared) {
    this.model = model;
    modelIndex = model.modelIndex();
    version = model.version();
    weights = model.weights();
    counters = model.counters();
    candidates = shared.candidates();
    coalesces = model.spec().isCoalescable();
    delaysLate = options.delaysLate();
    maxQueueDelayNanos = options.maxQueueDelayNanos();
    weight = options.weight();
    int variants = model.contract().variants().size();
    queue = ModelQueue.of(shared.tenants(), variants);
    programs = new PreparedProgram[variants][];
    planners = new BatchPlanner[variants];
    for (int variant = 0; variant < variants; variant++) {
      int[] sizes = model.batchSizes(variant);
      planners[variant] = shared.planner(sizes, options.rowCap());
      programs[variant] = new PreparedProgram[sizes.length];
      for (int i = 0; i < sizes.length; i++) {
        CompiledProgram compiled = compiled(variant, sizes[i]);
        programs[variant][i] =
            new PreparedProgram(model, compiled, shared.layouts().take(model.spec(), compiled));
      }
    }
  }

  private CompiledProgram compiled(int variant, int batchSize) {
    for (CompiledProgram program : model.programs()) {
      if (program.variant() == variant && program.batchSize() == batchSize) {
        return program;
      }
    }
    throw new IllegalStateException("no program of size " + batchSize);
  }

  /** Gives back what it shared with others; the lane is of no use afterwards. */
  public void close(SharedParts shared) {
    for (PreparedProgram program : programs()) {
      shared.layouts().giveBack(program.layout());
    }
  }

  public ProgramModel model() {
    return model;
  }

  public int modelIndex() {
    return modelIndex;
  }

  /** What responses carry. */
  public String version() {
    return version;
  }

  /** Share of the device relative to other models. */
  public double weight() {
    return weight;
  }

  void setWeight(double other) {
    weight = other;
  }

  public ModelCounters counters() {
    return counters;
  }

  public ModelWeights weights() {
    return weights;
  }

  /** True when its weights are on the device, so that a batch of it can run. */
  public boolean isResident() {
    return weights.isResident();
  }

  public boolean isLoading() {
    return loading;
  }

  void setLoading(boolean now) {
    loading = now;
  }

  void weightsArrived(long nanos, long atNanos) {
    loadNanos = nanos;
    arrivedNanos = atNanos;
  }

  /** True when its weights were brought to the device since. */
  public boolean hasArrivedSince(long nanos) {
    return arrivedNanos >= nanos;
  }

  /** How long the latest load took, in nanoseconds. */
  public long loadNanos() {
    return loadNanos;
  }

  public ModelQueue queue() {
    return queue;
  }

  public List<PreparedProgram> programs() {
    List<PreparedProgram> all = new ArrayList<>();
    for (PreparedProgram[] own : programs) {
      all.addAll(List.of(own));
    }
    return all;
  }

  public PreparedProgram program(int variant, int batchSize) {
    for (PreparedProgram program : programs[variant]) {
      if (program.batchSize() == batchSize) {
        return program;
      }
    }
    throw new IllegalStateException(
        "model '%s' has no program for variant %d and batch size %d"
            .formatted(model.name(), variant, batchSize));
  }

  /** The next smaller compiled size of a variant; 0 when there is none. */
  public int sizeBelow(int variant, int batchSize) {
    int below = 0;
    for (PreparedProgram program : programs[variant]) {
      if (program.batchSize() < batchSize) {
        below = program.batchSize();
      }
    }
    return below;
  }

  /** The smallest compiled size above one; 0 when there is none. */
  public int sizeAbove(int variant, int batchSize) {
    for (PreparedProgram program : programs[variant]) {
      if (program.batchSize() > batchSize) {
        return program.batchSize();
      }
    }
    return 0;
  }

  /** Notes that the lane's place is to be found again; false when that was noted already. */
  boolean markDirty() {
    boolean first = !dirty;
    dirty = true;
    return first;
  }

  void clearDirty() {
    dirty = false;
  }

  boolean isDirty() {
    return dirty;
  }

  /** Most rows of different requests that may run together. */
  public int mostRows(int variant) {
    return planners[variant].mostRows();
  }

  /** True when the request has passed its deadline, or has waited too long to be let wait on. */
  public boolean isOverdue(QueuedRequest request, long nowNanos) {
    return nowNanos >= request.deadlineNanos()
        || (nowNanos >= request.queueDeadlineNanos() && !delaysLate && !request.hasBegun());
  }

  /** True when the request is to be put behind the others for having waited too long. */
  public boolean isToBeDelayed(QueuedRequest request, long nowNanos) {
    return delaysLate && nowNanos >= request.queueDeadlineNanos() && !request.hasBegun();
  }

  /**
   * True when even the quickest program that holds the request's rows would answer it too late. A
   * meta's call is never hopeless: other calls of its run have been answered already.
   */
  public boolean isHopeless(QueuedRequest request, long nowNanos) {
    return isHopeless(request, nowNanos, 0);
  }

  /**
   * As above, when the run can begin no sooner than in {@code loadNanos}, because the weights are
   * not on the device.
   */
  public boolean isHopeless(QueuedRequest request, long nowNanos, long loadNanos) {
    if (isOverdue(request, nowNanos)) {
      return true;
    }
    return request.deadlineNanos() != InferenceRequest.NO_DEADLINE
        && isLateAfter(loadNanos + quickestNanos(request, nowNanos), request, nowNanos);
  }

  /**
   * True when a run that starts now and takes {@code runNanos} would answer the request too late.
   */
  public static boolean isLateAfter(long runNanos, QueuedRequest request, long nowNanos) {
    return nowNanos + (request.isCommitted() ? 0 : runNanos) >= request.deadlineNanos();
  }

  private long quickestNanos(QueuedRequest request, long nowNanos) {
    int left = request.rows() - request.rowsTaken();
    long least = Long.MAX_VALUE;
    PreparedProgram[] own = programs[request.variant()];
    for (PreparedProgram program : own) {
      if (program.batchSize() >= left) {
        least = Math.min(least, program.cost().confirmedHighNanos(nowNanos));
      }
    }
    return least == Long.MAX_VALUE
        ? own[own.length - 1].cost().confirmedHighNanos(nowNanos)
        : least;
  }

  /**
   * Plans the batch that the front request leads.
   *
   * @param shedsLate true to leave out requests that no program could answer in time
   * @param mostRows of several requests together
   */
  public BatchPlan plan(long nowNanos, boolean shedsLate, int mostRows) {
    QueuedRequest front = queue.get(0);
    if (queue.size() == 1 && front.rows() == 1) {
      return planners[front.variant()].planSingleRows(1);
    }
    return planByLooking(nowNanos, shedsLate, mostRows);
  }

  /**
   * As {@link #plan}, but always looks at what waits, so that {@code candidates} is of this lane.
   */
  private BatchPlan planByLooking(long nowNanos, boolean shedsLate, int mostRows) {
    BatchPlanner planner = planners[queue.get(0).variant()];
    candidates.measure(this, coalesces ? planner.largest() : 0, nowNanos, shedsLate);
    return planner.plan(candidates, mostRows);
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
   * Until when the front request's batch may be held: while it could still grow, within the allowed
   * delay, and not past the latest start that meets every waiting deadline, even after one run of
   * another model.
   *
   * @param othersNanos how long that run may take
   * @return a moment in the past when it is to run at once
   */
  long heldUntilNanos(long othersNanos) {
    QueuedRequest front = queue.get(0);
    if (!holds() || front.isCommitted() || front.hasBegun()) {
      return Long.MIN_VALUE;
    }
    BatchPlan plan = planByLooking(Long.MIN_VALUE, false, Integer.MAX_VALUE);
    boolean canGrow =
        candidates.count() == queue.size()
            && candidates.sum() < planners[front.variant()].mostRows();
    if (!canGrow) {
      return Long.MIN_VALUE;
    }
    long delayed = Math.min(front.arrivalNanos() + maxQueueDelayNanos, front.queueDeadlineNanos());
    long deadline = queue.earliestDeadlineNanos();
    if (deadline == InferenceRequest.NO_DEADLINE) {
      return delayed;
    }
    long ownNanos = program(front.variant(), plan.batchSize()).cost().highNanos();
    return Math.min(delayed, deadline - 1 - ownNanos - othersNanos);
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
            : plan(Long.MIN_VALUE, false, Integer.MAX_VALUE);
    double mean = program(variant, plan.batchSize()).cost().meanNanos();
    return Math.max(mean, 1) / Math.max(plan.rows(), 1);
  }
}
