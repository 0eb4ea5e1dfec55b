package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * One model's waiting requests: committed ones first, each kind in order of arrival. Cancelled
 * requests stay until they reach the front or the room is needed; {@link #dropEnded} lets them go.
 * Owned by the dispatch thread.
 */
public final class ModelQueue {
  private final RequestRing waiting = new RequestRing();
  private @Nullable RequestRing committed;
  private @Nullable ArrayDeque<InferenceRequest> urgent;

  public int size() {
    return committedSize() + waiting.size();
  }

  public boolean isEmpty() {
    return size() == 0;
  }

  /**
   * True when no request has more than one row and none runs ahead of others: then as many rows
   * wait as requests.
   */
  public boolean hasOnlySingleRows() {
    return waiting.isOfSingleRows() && committedSize() == 0;
  }

  public void add(InferenceRequest request) {
    if (request.isCommitted()) {
      if (committed == null) {
        committed = new RequestRing();
      }
      committed.add(request);
    } else {
      waiting.add(request);
      noteDeadline(request);
    }
  }

  /**
   * @param position 0 is the front
   */
  public InferenceRequest get(int position) {
    if (position >= size()) {
      throw new IndexOutOfBoundsException("position " + position + " of " + size() + " waiting");
    }
    RequestRing first = committed;
    if (first == null) {
      return waiting.get(position);
    }
    return position < first.size() ? first.get(position) : waiting.get(position - first.size());
  }

  public InferenceRequest remove() {
    RequestRing first = committed;
    if (first != null && first.size() > 0) {
      return first.remove();
    }
    InferenceRequest front = waiting.remove();
    if (urgent != null && urgent.peekFirst() == front) {
      urgent.removeFirst();
    }
    return front;
  }

  /**
   * Of all that wait and are not committed, for those need no comparing; {@link
   * InferenceRequest#NO_DEADLINE} when none has one.
   */
  public long earliestDeadlineNanos() {
    if (urgent == null) {
      return InferenceRequest.NO_DEADLINE;
    }
    InferenceRequest first = urgent.peekFirst();
    if (first != null && first.state() == InferenceRequest.State.DONE) {
      // It may have hidden others, which count again now that it is cancelled.
      urgent.clear();
      for (int position = 0; position < waiting.size(); position++) {
        noteDeadline(waiting.get(position));
      }
      first = urgent.peekFirst();
    }
    return first == null ? InferenceRequest.NO_DEADLINE : first.deadlineNanos();
  }

  /** Keeps those that no later arrival is as urgent as: the first of them is the most urgent. */
  private void noteDeadline(InferenceRequest request) {
    if (request.deadlineNanos() == InferenceRequest.NO_DEADLINE
        || request.state() == InferenceRequest.State.DONE) {
      return;
    }
    if (urgent == null) {
      urgent = new ArrayDeque<>(4);
    }
    while (!urgent.isEmpty() && urgent.getLast().deadlineNanos() > request.deadlineNanos()) {
      urgent.removeLast();
    }
    urgent.addLast(request);
  }

  /** Removes requests at the front that somebody else has ended. */
  public void dropEnded() {
    while (!isEmpty() && get(0).state() == InferenceRequest.State.DONE) {
      remove();
    }
  }

  private int committedSize() {
    return committed == null ? 0 : committed.size();
  }
}
