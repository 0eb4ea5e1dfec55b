package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Runs every program of a new model three times with zeros, so that the first request does not pay
 * for what the device does on first use, and a program that cannot run never becomes ready. One
 * program at a time, between other models' batches. Owned by the dispatch thread.
 */
final class WarmUp {
  private static final int MEASURED_RUNS = 2;

  private final Device device;
  private final StagingSlot staging;
  private final NanoClock clock;
  private final Queue<Pending> pending = new ArrayDeque<>();

  WarmUp(Device device, StagingSlot staging, NanoClock clock) {
    this.device = device;
    this.staging = staging;
    this.clock = clock;
  }

  void add(ModelLane lane, CompletableFuture<Void> done) {
    pending.add(new Pending(lane, new ArrayDeque<>(lane.programs()), done));
  }

  boolean isEmpty() {
    return pending.isEmpty();
  }

  /**
   * Warms up one program of the model that has waited longest.
   *
   * @return that model when the program does not run; else null
   */
  @Nullable ModelLane runOne() {
    Pending next = pending.element();
    try {
      run(next.programs().remove());
      if (next.programs().isEmpty()) {
        pending.remove();
        next.done().complete(null);
      }
      return null;
    } catch (RuntimeException | Error e) {
      pending.remove();
      next.done().completeExceptionally(e);
      return next.lane();
    }
  }

  /** Gives up on everything that waits. */
  void abandon() {
    for (Pending each : pending) {
      each.done().cancel(false);
    }
    pending.clear();
  }

  private void run(PreparedProgram program) {
    BatchAssembler.zero(program, staging);
    // The first run pays for what the device does on first use; the others are what runs cost. Two
    // of them, so that one accident does not pass for the rule.
    time(program);
    for (int run = 0; run < MEASURED_RUNS; run++) {
      long nanos = time(program);
      program.cost().record(nanos, clock.nanoTime());
    }
  }

  private long time(PreparedProgram program) {
    long started = clock.nanoTime();
    try (Execution execution = program.execute(device, staging)) {
      execution.await();
      return clock.nanoTime() - started;
    } finally {
      program.closeInputs();
    }
  }

  private record Pending(
      ModelLane lane, Queue<PreparedProgram> programs, CompletableFuture<Void> done) {}
}
