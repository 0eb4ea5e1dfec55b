package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Requests in order of arrival: a ring that grows when it must, and shrinks when it is empty.
 * Requests that somebody else has ended stay until they reach the front, but never cost growth.
 */
final class RequestRing {
  private static final int INITIAL = 4;

  /** A ring that grew beyond this is let go of when it is empty. */
  private static final int KEPT = 64;

  private static final @Nullable QueuedRequest[] NOTHING = new @Nullable QueuedRequest[0];

  private @Nullable QueuedRequest[] ring = NOTHING;
  private int head;
  private int size;

  /** Requests with more than one row. */
  private int large;

  /**
   * Of the requests with a deadline, those that no later arrival is as urgent as, in order of
   * arrival: their deadlines rise, so the first is the most urgent of all.
   */
  private @Nullable ArrayDeque<QueuedRequest> urgent;

  int size() {
    return size;
  }

  /** True when no request here has more than one row. */
  boolean isOfSingleRows() {
    return large == 0;
  }

  QueuedRequest get(int position) {
    return Objects.requireNonNull(ring[(head + position) & (ring.length - 1)]);
  }

  void add(QueuedRequest request) {
    if (size == ring.length) {
      makeRoom();
    }
    ring[(head + size) & (ring.length - 1)] = request;
    size++;
    large += isLarge(request);
    noteDeadline(request);
  }

  /** Puts a request that was taken from here back to the front. */
  void putBack(QueuedRequest request) {
    if (size == ring.length) {
      makeRoom();
    }
    head = (head - 1) & (ring.length - 1);
    ring[head] = request;
    size++;
    large += isLarge(request);
    if (request.deadlineNanos() != InferenceRequest.NO_DEADLINE) {
      ArrayDeque<QueuedRequest> known = urgent();
      QueuedRequest first = known.peekFirst();
      if (first == null || request.deadlineNanos() < first.deadlineNanos()) {
        known.addFirst(request);
      }
    }
  }

  QueuedRequest remove() {
    QueuedRequest front = get(0);
    ring[head] = null;
    head = (head + 1) & (ring.length - 1);
    size--;
    large -= isLarge(front);
    if (urgent != null && urgent.peekFirst() == front) {
      urgent.removeFirst();
    }
    if (size == 0 && ring.length > KEPT) {
      ring = NOTHING;
      head = 0;
    }
    return front;
  }

  /** The earliest deadline here; {@link InferenceRequest#NO_DEADLINE} when none has one. */
  long earliestDeadlineNanos() {
    if (urgent == null) {
      return InferenceRequest.NO_DEADLINE;
    }
    QueuedRequest first = urgent.peekFirst();
    if (first != null && first.isDone()) {
      // It may have hidden others, which count again now that it is cancelled.
      urgent.clear();
      for (int position = 0; position < size; position++) {
        noteDeadline(get(position));
      }
      first = urgent.peekFirst();
    }
    return first == null ? InferenceRequest.NO_DEADLINE : first.deadlineNanos();
  }

  private void noteDeadline(QueuedRequest request) {
    if (request.deadlineNanos() == InferenceRequest.NO_DEADLINE || request.isDone()) {
      return;
    }
    ArrayDeque<QueuedRequest> known = urgent();
    while (!known.isEmpty() && known.getLast().deadlineNanos() > request.deadlineNanos()) {
      known.removeLast();
    }
    known.addLast(request);
  }

  private ArrayDeque<QueuedRequest> urgent() {
    if (urgent == null) {
      urgent = new ArrayDeque<>(4);
    }
    return urgent;
  }

  private static int isLarge(QueuedRequest request) {
    return request.rows() > 1 ? 1 : 0;
  }

  private void makeRoom() {
    int live = 0;
    for (int i = 0; i < size; i++) {
      live += get(i).isDone() ? 0 : 1;
    }
    int length = live <= ring.length / 2 ? ring.length : ring.length * 2;
    @Nullable QueuedRequest[] kept = new @Nullable QueuedRequest[Math.max(length, INITIAL)];
    int count = 0;
    large = 0;
    for (int i = 0; i < size; i++) {
      QueuedRequest request = get(i);
      if (!request.isDone() && count < kept.length) {
        kept[count++] = request;
        large += isLarge(request);
      }
    }
    ring = kept;
    head = 0;
    size = count;
  }
}
