package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One model's waiting requests, in ranks that go one after the other: calls of metas that run
 * ahead, then the priority levels, each followed by those of its requests that have waited too
 * long; within a rank in order of arrival. Cancelled requests stay until they reach the front or
 * the room is needed; {@link #dropEnded} lets them go. Owned by the dispatch thread.
 */
public final class ModelQueue {
  private static final int AHEAD = 0;

  /** The rank of the first priority level, which is the only one of most models. */
  private static final int FIRST_LEVEL = 1;

  private final RequestRing firstLevel = new RequestRing();

  /** Null while only the first level has been used: most models need no more. */
  private @Nullable RequestRing @Nullable [] ranks;

  public int size() {
    if (ranks == null) {
      return firstLevel.size();
    }
    int size = 0;
    for (RequestRing ring : ranks) {
      size += ring == null ? 0 : ring.size();
    }
    return size;
  }

  public boolean isEmpty() {
    return size() == 0;
  }

  /**
   * True when no request has more than one row and none runs ahead of others: then as many rows
   * wait as requests.
   */
  public boolean hasOnlySingleRows() {
    return firstLevel.isOfSingleRows() && size() == firstLevel.size();
  }

  public void add(QueuedRequest request) {
    ring(rank(request)).add(request);
  }

  /** Puts a request that was taken out of here back to where it was. */
  public void putBack(QueuedRequest request) {
    ring(rank(request)).putBack(request);
  }

  /** Moves the front request behind all others of its level and those before. */
  public void delayFront() {
    QueuedRequest front = remove();
    front.delay();
    ring(rank(front)).add(front);
  }

  /**
   * @param position 0 is the front
   */
  public QueuedRequest get(int position) {
    if (position >= size()) {
      throw new IndexOutOfBoundsException("position " + position + " of " + size() + " waiting");
    }
    if (ranks == null) {
      return firstLevel.get(position);
    }
    int left = position;
    for (RequestRing ring : ranks) {
      int here = ring == null ? 0 : ring.size();
      if (ring != null && left < here) {
        return ring.get(left);
      }
      left -= here;
    }
    throw new IllegalStateException("the ranks hold no such position");
  }

  public QueuedRequest remove() {
    if (ranks == null) {
      return firstLevel.remove();
    }
    for (RequestRing ring : ranks) {
      if (ring != null && ring.size() > 0) {
        return ring.remove();
      }
    }
    throw new IllegalStateException("nothing waits");
  }

  /**
   * Of all that wait and do not run ahead of others, for those need no comparing; {@link
   * InferenceRequest#NO_DEADLINE} when none has one.
   */
  public long earliestDeadlineNanos() {
    if (ranks == null) {
      return firstLevel.earliestDeadlineNanos();
    }
    long earliest = InferenceRequest.NO_DEADLINE;
    for (int rank = FIRST_LEVEL; rank < ranks.length; rank++) {
      RequestRing ring = ranks[rank];
      if (ring != null) {
        earliest = Math.min(earliest, ring.earliestDeadlineNanos());
      }
    }
    return earliest;
  }

  /** Removes requests at the front that somebody else has ended. */
  public void dropEnded() {
    while (!isEmpty() && get(0).isDone()) {
      remove();
    }
  }

  private static int rank(QueuedRequest request) {
    if (request.isCommitted()) {
      return AHEAD;
    }
    return FIRST_LEVEL + 2 * Math.max(0, request.level() - 1) + (request.isDelayed() ? 1 : 0);
  }

  private RequestRing ring(int rank) {
    if (rank == FIRST_LEVEL) {
      return firstLevel;
    }
    @Nullable RequestRing[] all = ranks == null ? new @Nullable RequestRing[rank + 1] : ranks;
    if (rank >= all.length) {
      all = Arrays.copyOf(all, rank + 1);
    }
    if (all.length == 1) {
      all = Arrays.copyOf(all, FIRST_LEVEL + 1);
    }
    all[FIRST_LEVEL] = firstLevel;
    RequestRing ring = all[rank];
    if (ring == null) {
      ring = new RequestRing();
      all[rank] = ring;
    }
    ranks = all;
    return ring;
  }
}
