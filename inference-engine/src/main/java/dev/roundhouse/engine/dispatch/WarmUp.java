package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.layout.PreparedProgram;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Runs every program of a new model three times with zeros, so the first request does not pay for
 * first use, and a program that cannot run never becomes ready. These are runs like others, charged
 * to their model, one at a time and between other models' batches.
 */
final class WarmUp {
  /**
   * The first run pays for first use; the other two measure the cost, two so that one outlier does
   * not decide.
   */
  static final int RUNS = 3;

  private final Queue<Pending> pending = new ArrayDeque<>();
  private boolean running;

  void add(ModelLane lane, CompletableFuture<Void> done, long nowNanos) {
    pending.add(new Pending(lane, new ArrayDeque<>(lane.programs()), done, nowNanos));
  }

  /** True when there is a run to be made and the weights for it are there. */
  boolean wantsRun() {
    return !running && !pending.isEmpty() && pending.element().lane.isResident();
  }

  /** The model that is being warmed up; null when there is none. */
  @Nullable ModelLane next() {
    Pending next = pending.peek();
    return next == null ? null : next.lane;
  }

  /** Since when it has waited. */
  long nextSinceNanos() {
    return pending.element().sinceNanos;
  }

  /** True when nothing is left to be warmed up. */
  boolean isEmpty() {
    return pending.isEmpty();
  }

  /** The staging memory that the next run needs. */
  long nextStagingBytes() {
    return pending.element().programs.element().layout().stagingBytes();
  }

  /** Makes the next run up in a free slot. */
  void begin(BatchSlot slot) {
    Pending next = pending.element();
    slot.begin(next.lane, next.programs.element());
    running = true;
  }

  /** The run came to nothing, and is to be made again. */
  void again() {
    running = false;
  }

  /**
   * A run has ended well.
   *
   * @return true when that was the model's last
   */
  boolean onRan(BatchSlot slot) {
    running = false;
    Pending current = pending.element();
    if (current.runs > 0) {
      slot.program().cost().record(slot.computeNanos(), slot.endedNanos());
    }
    if (++current.runs == RUNS) {
      current.runs = 0;
      current.programs.remove();
    }
    if (current.programs.isEmpty()) {
      pending.remove();
      current.done.complete(null);
      return true;
    }
    return false;
  }

  /**
   * Gives up on the model in warm-up.
   *
   * @return its waiting future, to complete once the model is released
   */
  CompletableFuture<Void> giveUp() {
    running = false;
    return pending.remove().done;
  }

  /** Gives up on everything that waits. */
  void abandon() {
    for (Pending each : pending) {
      each.done.cancel(false);
    }
    pending.clear();
    running = false;
  }

  private static final class Pending {
    final ModelLane lane;
    final Queue<PreparedProgram> programs;
    final CompletableFuture<Void> done;
    final long sinceNanos;
    int runs;

    Pending(
        ModelLane lane,
        Queue<PreparedProgram> programs,
        CompletableFuture<Void> done,
        long sinceNanos) {
      this.lane = lane;
      this.programs = programs;
      this.done = done;
      this.sinceNanos = sinceNanos;
    }
  }
}
