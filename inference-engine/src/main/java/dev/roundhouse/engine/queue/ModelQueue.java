package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One model's waiting requests in order of arrival: a ring that grows. Cancelled requests stay
 * until they reach the front; {@link #dropEnded} lets them go. Owned by the dispatch thread.
 */
public final class ModelQueue {
  private static final int INITIAL = 8;

  private @Nullable InferenceRequest[] ring = new @Nullable InferenceRequest[INITIAL];
  private int head;
  private int size;
  private final ArrayDeque<InferenceRequest> urgent = new ArrayDeque<>();

  public int size() {
    return size;
  }

  public boolean isEmpty() {
    return size == 0;
  }

  public void add(InferenceRequest request) {
    if (size == ring.length) {
      grow();
    }
    ring[(head + size) & (ring.length - 1)] = request;
    size++;
    noteDeadline(request);
  }

  /**
   * @param position 0 is the front
   */
  public InferenceRequest get(int position) {
    if (position >= size) {
      throw new IndexOutOfBoundsException("position " + position + " of " + size + " waiting");
    }
    return Objects.requireNonNull(ring[(head + position) & (ring.length - 1)]);
  }

  public InferenceRequest remove() {
    InferenceRequest front = get(0);
    if (urgent.peekFirst() == front) {
      urgent.removeFirst();
    }
    ring[head] = null;
    head = (head + 1) & (ring.length - 1);
    size--;
    return front;
  }

  /** Of all that wait; {@link InferenceRequest#NO_DEADLINE} when none has one. */
  public long earliestDeadlineNanos() {
    InferenceRequest first = urgent.peekFirst();
    if (first != null && first.state() == InferenceRequest.State.DONE) {
      // It may have hidden others, which count again now that it is cancelled.
      urgent.clear();
      for (int position = 0; position < size; position++) {
        noteDeadline(get(position));
      }
      first = urgent.peekFirst();
    }
    return first == null ? InferenceRequest.NO_DEADLINE : first.deadlineNanos();
  }

  private void noteDeadline(InferenceRequest request) {
    if (request.deadlineNanos() == InferenceRequest.NO_DEADLINE
        || request.state() == InferenceRequest.State.DONE) {
      return;
    }
    while (!urgent.isEmpty() && urgent.getLast().deadlineNanos() > request.deadlineNanos()) {
      urgent.removeLast();
    }
    urgent.addLast(request);
  }

  /** Removes requests at the front that somebody else has ended. */
  public void dropEnded() {
    while (size > 0 && get(0).state() == InferenceRequest.State.DONE) {
      remove();
    }
  }

  private void grow() {
    @Nullable InferenceRequest[] bigger = new @Nullable InferenceRequest[ring.length * 2];
    for (int i = 0; i < size; i++) {
      bigger[i] = ring[(head + i) & (ring.length - 1)];
    }
    ring = bigger;
    head = 0;
  }
}
