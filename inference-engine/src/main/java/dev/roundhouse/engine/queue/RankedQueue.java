package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Requests in ranks that go one after the other: calls of metas that run ahead, then the priority
 * levels, each followed by those of its requests that have waited too long. Within a rank the shape
 * variant whose oldest request has waited longest is first, with all its requests, in order of
 * arrival: they can run together. Owned by the dispatch thread.
 */
public final class RankedQueue extends ModelQueue {
  private static final int AHEAD = 0;

  /** The rank of the first priority level, which is the only one of most models. */
  private static final int FIRST_LEVEL = 1;

  private final int variants;
  private final RequestRing firstLevel = new RequestRing();

  /**
   * By rank, then by variant. Null while only the first level of the first variant has been used:
   * most models need no more.
   */
  private @Nullable RequestRing @Nullable [] rings;

  /** The front's ring while a batch is taken from it. */
  private @Nullable RequestRing taken;

  /** For a model with one shape. */
  public RankedQueue() {
    this(1);
  }

  /**
   * @param variants shape variants of the model
   */
  public RankedQueue(int variants) {
    this.variants = variants;
  }

  @Override
  public int size() {
    if (rings == null) {
      return firstLevel.size();
    }
    int size = 0;
    for (RequestRing ring : rings) {
      size += ring == null ? 0 : ring.size();
    }
    return size;
  }

  @Override
  public boolean hasOnlySingleRows() {
    return firstLevel.isOfSingleRows() && size() == firstLevel.size();
  }

  @Override
  public void add(QueuedRequest request) {
    ring(request).add(request);
  }

  @Override
  public void putBack(QueuedRequest request) {
    ring(request).putBack(request);
  }

  @Override
  public void delayFront() {
    QueuedRequest front = remove();
    front.delay();
    ring(front).add(front);
  }

  @Override
  public QueuedRequest get(int position) {
    if (position >= size()) {
      throw new IndexOutOfBoundsException("position " + position + " of " + size() + " waiting");
    }
    if (rings == null) {
      return firstLevel.get(position);
    }
    int left = position;
    for (int begin = 0; begin < rings.length; begin += variants) {
      RequestRing first = first(rings, begin);
      if (first == null) {
        continue;
      }
      if (left < first.size()) {
        return first.get(left);
      }
      left -= first.size();
      for (int i = begin; i < begin + variants; i++) {
        RequestRing ring = rings[i];
        if (ring != null && ring != first) {
          if (left < ring.size()) {
            return ring.get(left);
          }
          left -= ring.size();
        }
      }
    }
    throw new IllegalStateException("the ranks hold no such position");
  }

  @Override
  public QueuedRequest remove() {
    if (rings == null) {
      return firstLevel.remove();
    }
    for (int begin = 0; begin < rings.length; begin += variants) {
      RequestRing first = first(rings, begin);
      if (first != null) {
        return first.remove();
      }
    }
    throw new IllegalStateException("nothing waits");
  }

  @Override
  public void beginBatch() {
    if (rings != null) {
      for (int begin = 0; taken == null && begin < rings.length; begin += variants) {
        taken = first(rings, begin);
      }
    }
  }

  @Override
  public void endBatch() {
    taken = null;
  }

  /** Of a rank, the variant whose oldest request arrived first; null when none waits. */
  private @Nullable RequestRing first(@Nullable RequestRing[] all, int begin) {
    RequestRing first = null;
    for (int i = begin; i < begin + variants; i++) {
      RequestRing ring = all[i];
      if (ring != null && ring == taken && ring.size() > 0) {
        return ring;
      }
      if (ring != null && ring.size() > 0 && (first == null || isOlder(ring, first))) {
        first = ring;
      }
    }
    return first;
  }

  private static boolean isOlder(RequestRing one, RequestRing other) {
    return one.get(0).arrivalNanos() - other.get(0).arrivalNanos() < 0;
  }

  @Override
  public long earliestDeadlineNanos() {
    if (rings == null) {
      return firstLevel.earliestDeadlineNanos();
    }
    long earliest = InferenceRequest.NO_DEADLINE;
    for (int i = FIRST_LEVEL * variants; i < rings.length; i++) {
      RequestRing ring = rings[i];
      if (ring != null) {
        earliest = Math.min(earliest, ring.earliestDeadlineNanos());
      }
    }
    return earliest;
  }

  private static int rank(QueuedRequest request) {
    if (request.isCommitted()) {
      return AHEAD;
    }
    return FIRST_LEVEL + 2 * Math.max(0, request.level() - 1) + (request.isDelayed() ? 1 : 0);
  }

  private RequestRing ring(QueuedRequest request) {
    int rank = rank(request);
    int index = rank * variants + request.variant();
    if (index == FIRST_LEVEL * variants) {
      return firstLevel;
    }
    int length = Math.max(rank, FIRST_LEVEL) * variants + variants;
    @Nullable RequestRing[] all = rings == null ? new @Nullable RequestRing[length] : rings;
    if (length > all.length) {
      all = Arrays.copyOf(all, length);
    }
    all[FIRST_LEVEL * variants] = firstLevel;
    RequestRing ring = all[index];
    if (ring == null) {
      ring = new RequestRing();
      all[index] = ring;
    }
    rings = all;
    return ring;
  }
}
