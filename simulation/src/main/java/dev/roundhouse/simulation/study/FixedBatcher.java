package dev.roundhouse.simulation.study;

import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.traffic.Arrival;
import dev.roundhouse.simulation.traffic.Arrivals;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A server with two knobs per model, as Triton's dynamic batcher has them: a batch runs when it has
 * {@code batch} calls, or when the oldest has waited for {@code delayNanos}; the device takes ready
 * batches in the order in which they became ready. Calls that are already late are dropped when
 * their batch is taken. A batch is padded to the next compiled size.
 */
final class FixedBatcher {
  private final Fleet fleet;
  private final int batch;
  private final long delayNanos;
  private final long sloNanos;
  private final List<ArrayDeque<Long>> queues = new ArrayList<>(); // arrival times
  private long freeAt;
  private long inTime;

  FixedBatcher(Fleet fleet, int batch, long delayNanos, long sloNanos) {
    this.fleet = fleet;
    this.batch = batch;
    this.delayNanos = delayNanos;
    this.sloNanos = sloNanos;
    fleet.models().forEach(model -> queues.add(new ArrayDeque<>()));
  }

  /** Calls answered within the SLO. */
  long serve(Arrivals arrivals) {
    for (Arrival next = arrivals.next(); next != null; next = arrivals.next()) {
      runUntil(next.nanos());
      queues.get(next.model()).add(next.nanos());
    }
    runUntil(Long.MAX_VALUE);
    return inTime;
  }

  /** Starts what can start before {@code nanos}. */
  private void runUntil(long nanos) {
    while (true) {
      FleetModel first = null;
      long firstReady = Long.MAX_VALUE;
      for (FleetModel model : fleet.models()) {
        long ready = readyAt(queues.get(model.index()));
        if (ready < firstReady) {
          first = model;
          firstReady = ready;
        }
      }
      long start = Math.max(firstReady, freeAt);
      if (first == null || start >= nanos) {
        return;
      }
      run(first, start);
    }
  }

  /** When a model's batch may run; {@link Long#MAX_VALUE} when it has none. */
  private long readyAt(ArrayDeque<Long> queue) {
    if (queue.isEmpty()) {
      return Long.MAX_VALUE;
    }
    long waited = Math.addExact(queue.getFirst(), delayNanos);
    return queue.size() < batch ? waited : Math.min(waited, nth(queue, batch));
  }

  private static long nth(ArrayDeque<Long> queue, int n) {
    int i = 0;
    for (long arrival : queue) {
      i++;
      if (i == n) {
        return arrival;
      }
    }
    throw new IllegalStateException("a queue of " + queue.size() + " has no call " + n);
  }

  private void run(FleetModel model, long start) {
    ArrayDeque<Long> queue = queues.get(model.index());
    List<Long> taken = new ArrayList<>(batch);
    @Nullable Long next = queue.peek();
    while (next != null && taken.size() < batch) {
      queue.remove();
      if (start < next + sloNanos) {
        taken.add(next);
      }
      next = queue.peek();
    }
    if (taken.isEmpty()) {
      return;
    }
    freeAt = start + model.nanosAlone(taken.size());
    for (long arrival : taken) {
      if (freeAt <= arrival + sloNanos) {
        inTime++;
      }
    }
  }
}
