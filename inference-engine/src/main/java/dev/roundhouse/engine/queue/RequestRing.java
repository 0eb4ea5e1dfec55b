package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
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

  private static final @Nullable InferenceRequest[] NOTHING = new @Nullable InferenceRequest[0];

  private @Nullable InferenceRequest[] ring = NOTHING;
  private int head;
  private int size;

  /** Requests with more than one row. */
  private int large;

  int size() {
    return size;
  }

  void add(InferenceRequest request) {
    if (size == ring.length) {
      makeRoom();
    }
    ring[(head + size) & (ring.length - 1)] = request;
    size++;
    large += isLarge(request);
  }

  /** True when no request here has more than one row. */
  boolean isOfSingleRows() {
    return large == 0;
  }

  private static int isLarge(InferenceRequest request) {
    return request.rows() > 1 ? 1 : 0;
  }

  InferenceRequest get(int position) {
    return Objects.requireNonNull(ring[(head + position) & (ring.length - 1)]);
  }

  InferenceRequest remove() {
    InferenceRequest front = get(0);
    ring[head] = null;
    head = (head + 1) & (ring.length - 1);
    size--;
    large -= isLarge(front);
    if (size == 0 && ring.length > KEPT) {
      ring = NOTHING;
      head = 0;
    }
    return front;
  }

  private void makeRoom() {
    int live = 0;
    for (int i = 0; i < size; i++) {
      live += get(i).state() == InferenceRequest.State.DONE ? 0 : 1;
    }
    int length = live <= ring.length / 2 ? ring.length : ring.length * 2;
    @Nullable InferenceRequest[] kept = new @Nullable InferenceRequest[Math.max(length, INITIAL)];
    int count = 0;
    large = 0;
    for (int i = 0; i < size; i++) {
      InferenceRequest request = get(i);
      if (request.state() != InferenceRequest.State.DONE && count < kept.length) {
        kept[count++] = request;
        large += isLarge(request);
      }
    }
    ring = kept;
    head = 0;
    size = count;
  }
}
