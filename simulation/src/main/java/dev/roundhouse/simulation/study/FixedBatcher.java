package dev.roundhouse.simulation.study;

import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.traffic.Arrival;
import dev.roundhouse.simulation.traffic.Arrivals;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A server with two knobs, as Triton's dynamic batcher has them: a batch runs when it has {@code
 * batch} calls, or when the oldest has waited for {@code delayNanos}; the device takes ready
 * batches in the order in which they became ready. Calls that are already late are dropped when
 * their batch is taken, and others take their places. A batch is padded to the next compiled size.
 */
final class FixedBatcher {
  private final Fleet fleet;
  private final int batch;
  private final long delayNanos;
  private final long sloNanos;
  private final List<Waiting> queues = new ArrayList<>();
  private final long[] taken;
  private long freeAt;
  private long inTime;

  FixedBatcher(Fleet fleet, int batch, long delayNanos, long sloNanos) {
    this.fleet = fleet;
    this.batch = batch;
    this.delayNanos = delayNanos;
    this.sloNanos = sloNanos;
    taken = new long[batch];
    fleet.models().forEach(model -> queues.add(new Waiting()));
  }

  /** Calls of one row each that were answered within the SLO. */
  long serve(Arrivals arrivals) {
    for (Arrival next = arrivals.next(); next != null; next = arrivals.next()) {
      runUntil(next.nanos());
      queues.get(next.model()).add(next.nanos());
    }
    runUntil(Long.MAX_VALUE);
    return inTime;
  }

  /** Runs what can start before {@code nanos}. */
  private void runUntil(long nanos) {
    while (true) {
      int first = 0;
      for (int model = 1; model < queues.size(); model++) {
        if (readyAt(queues.get(model)) < readyAt(queues.get(first))) {
          first = model;
        }
      }
      long ready = readyAt(queues.get(first));
      long start = Math.max(ready, freeAt);
      if (ready == Long.MAX_VALUE || start >= nanos) {
        return;
      }
      run(fleet.model(first), start);
    }
  }

  /** When a model's batch may run; {@link Long#MAX_VALUE} when it has none. */
  private long readyAt(Waiting queue) {
    if (queue.size() == 0) {
      return Long.MAX_VALUE;
    }
    long waited = queue.arrival(0) + delayNanos;
    return queue.size() < batch ? waited : Math.min(waited, queue.arrival(batch - 1));
  }

  private void run(FleetModel model, long start) {
    Waiting queue = queues.get(model.index());
    int count = 0;
    while (queue.size() > 0 && count < batch) {
      long arrival = queue.remove();
      if (start < arrival + sloNanos) {
        taken[count++] = arrival;
      }
    }
    if (count == 0) {
      return;
    }
    freeAt = start + model.nanosAlone(count);
    for (int i = 0; i < count; i++) {
      if (freeAt <= taken[i] + sloNanos) {
        inTime++;
      }
    }
  }

  /** Arrival times of calls that wait, oldest first. */
  private static final class Waiting {
    private long[] arrivals = new long[64];
    private int head;
    private int tail;

    int size() {
      return tail - head;
    }

    long arrival(int position) {
      return arrivals[head + position];
    }

    void add(long arrival) {
      if (tail == arrivals.length) {
        int size = size();
        arrivals = Arrays.copyOfRange(arrivals, head, head + Math.max(64, 2 * size));
        head = 0;
        tail = size;
      }
      arrivals[tail++] = arrival;
    }

    long remove() {
      return arrivals[head++];
    }
  }
}
