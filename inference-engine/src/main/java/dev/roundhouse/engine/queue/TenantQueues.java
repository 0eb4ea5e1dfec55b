package dev.roundhouse.engine.queue;

import java.util.Arrays;

/**
 * A queue for each tenant. The front is that of the tenant that {@link #lead leads}, and the
 * others' requests follow, so that a batch which its requests do not fill is filled with theirs.
 * Owned by the dispatch thread.
 */
public final class TenantQueues extends ModelQueue {
  private final ModelQueue[] queues;

  /** The leading tenant; another's requests are in front while it has none. */
  private int leader;

  TenantQueues(int tenants, int variants) {
    queues = new ModelQueue[tenants];
    Arrays.setAll(queues, tenant -> new RankedQueue(variants));
  }

  /** One tenant's requests. */
  public ModelQueue of(int tenant) {
    return queues[tenant];
  }

  /** Puts a tenant's requests before the others'. */
  public void lead(int tenant) {
    leader = tenant;
  }

  /** The step-th queue from the leader on. */
  private ModelQueue at(int step) {
    int index = leader + step;
    return queues[index < queues.length ? index : index - queues.length];
  }

  private ModelQueue first() {
    for (int step = 0; step < queues.length; step++) {
      if (!at(step).isEmpty()) {
        return at(step);
      }
    }
    throw new IllegalStateException("nothing waits");
  }

  @Override
  public int size() {
    int size = 0;
    for (ModelQueue queue : queues) {
      size += queue.size();
    }
    return size;
  }

  @Override
  public boolean hasOnlySingleRows() {
    for (ModelQueue queue : queues) {
      if (!queue.hasOnlySingleRows()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void add(QueuedRequest request) {
    queues[request.tenant()].add(request);
  }

  @Override
  public void putBack(QueuedRequest request) {
    queues[request.tenant()].putBack(request);
  }

  @Override
  public void delayFront() {
    first().delayFront();
  }

  @Override
  public QueuedRequest get(int position) {
    int left = position;
    for (int step = 0; step < queues.length; step++) {
      ModelQueue queue = at(step);
      if (left < queue.size()) {
        return queue.get(left);
      }
      left -= queue.size();
    }
    throw new IndexOutOfBoundsException("position " + position + " of " + size() + " waiting");
  }

  @Override
  public QueuedRequest remove() {
    return first().remove();
  }

  @Override
  public void beginBatch() {
    for (ModelQueue queue : queues) {
      queue.beginBatch();
    }
  }

  @Override
  public void endBatch() {
    for (ModelQueue queue : queues) {
      queue.endBatch();
    }
  }

  @Override
  public long earliestDeadlineNanos() {
    long earliest = Long.MAX_VALUE;
    for (ModelQueue queue : queues) {
      earliest = Math.min(earliest, queue.earliestDeadlineNanos());
    }
    return earliest;
  }
}
