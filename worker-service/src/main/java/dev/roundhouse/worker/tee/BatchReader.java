package dev.roundhouse.worker.tee;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * One reader of one model's batches: in order, those of replaced files before those of the files
 * that replace them. Thread-safe; batches are done with in the order in which they were given.
 */
public final class BatchReader implements AutoCloseable {
  private final TeedModel model;
  private final Runnable wake;

  /** Guarded by this. */
  private final Deque<Attached> rings = new ArrayDeque<>();

  /** Guarded by this. */
  private boolean closed;

  private record Attached(Ring ring, Ring.Cursor cursor) {}

  /**
   * @param wake called, by any thread and briefly, when there may be another batch, or none any
   *     more
   */
  BatchReader(TeedModel model, Runnable wake) {
    this.model = model;
    this.wake = wake;
  }

  synchronized void attach(Ring ring) {
    Ring.Cursor cursor = closed ? null : ring.attach();
    if (cursor != null) {
      rings.add(new Attached(ring, cursor));
    }
  }

  void wake() {
    wake.run();
  }

  /** The next whole batch; null while there is none. */
  public synchronized @Nullable Batch next() {
    for (Attached first = rings.peek(); first != null; first = rings.peek()) {
      switch (first.ring().poll(first.cursor())) {
        case BATCH -> {
          return first.ring().take(first.cursor());
        }
        case NOTHING_YET -> {
          return null;
        }
        case NOTHING_EVER -> rings.remove();
      }
    }
    return null;
  }

  /** Why there will be no batch from the files that serve now; null when there may be. */
  public @Nullable String refusal() {
    NotTeedException why = model.refusal();
    return why == null || !why.isForGood() ? null : why.getMessage();
  }

  /** Reads no more. Batches that it was given stay readable until they are closed. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      rings.forEach(each -> each.ring().detach(each.cursor()));
      rings.clear();
    }
    model.left(this);
  }
}
