package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A model that was chosen: the ring that its rows go into, and who reads them. Without a reader it
 * has no ring. Thread-safe; rings are made by the thread {@code tee} alone.
 */
final class TeedModel {
  private static final Logger log = LoggerFactory.getLogger(TeedModel.class);

  /** After a model had no room in memory, it is tried again. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final String name;
  private final Tee tee;
  private final TeeCounts counts = new TeeCounts();
  private final List<BatchReader> readers = new CopyOnWriteArrayList<>();
  private final AtomicBoolean preparing = new AtomicBoolean();
  private volatile @Nullable Ring ring;
  private volatile @Nullable Refusal refused;

  /** Guarded by this. */
  private @Nullable ModelSpec lastMade;

  /** Guarded by this. */
  private long generation;

  /** Rings that take no more, and are not read to their end. */
  private final List<Ring> retired = new CopyOnWriteArrayList<>();

  /**
   * @param made the files that it holds for
   * @param untilNanos on the tee's clock, unless it is for good
   */
  private record Refusal(ModelSpec made, NotTeedException why, long untilNanos) {}

  TeedModel(String name, Tee tee) {
    this.name = name;
    this.tee = tee;
  }

  String name() {
    return name;
  }

  TeeCounts counts() {
    return counts;
  }

  boolean isRead() {
    return !readers.isEmpty();
  }

  /** What serves now; null when nothing does. */
  @Nullable ModelSpec serving() {
    ModelStatus status = tee.status(name);
    return status == null ? null : status.spec().orElse(null);
  }

  @Nullable Ring ring() {
    return ring;
  }

  /** Why the files that serve have no ring; null when they have, or nothing was tried. */
  @Nullable NotTeedException refusal() {
    Refusal now = refused;
    return now == null ? null : now.why();
  }

  /** Whether these files never have a ring. */
  boolean isRefused(ModelSpec made) {
    Refusal now = refused;
    return now != null && now.made() == made && now.why().isForGood();
  }

  /**
   * Why a row of these files cannot be taken at the moment, where there is no ring of theirs; one
   * is made if that may help.
   */
  Drop absent(ModelSpec made) {
    Refusal now = refused;
    if (now != null && now.made() == made) {
      if (now.why().isForGood()) {
        return Drop.NOT_FIXED;
      }
      if (tee.nanoTime() - now.untilNanos() < 0) {
        return Drop.MEMORY;
      }
    }
    prepare();
    return Drop.PREPARING;
  }

  /** Has a ring made of what serves now. Does not wait. */
  private void prepare() {
    if (preparing.compareAndSet(false, true)) {
      tee.execute(
          () -> {
            preparing.set(false);
            prepareNow();
          });
    }
  }

  /** A reader from now on. On the thread {@code tee}. */
  BatchReader read(Runnable wake) {
    BatchReader reader = new BatchReader(this, wake);
    synchronized (this) {
      readers.add(reader);
      Ring now = ring;
      if (now != null && now.spec().made() == serving()) {
        reader.attach(now);
      }
    }
    return reader;
  }

  /**
   * Sees to it that the ring is of what serves. On the thread {@code tee}.
   *
   * @return what batches are; null when nothing serves, or nothing can be had of what does
   */
  synchronized @Nullable TeeSpec prepareNow() {
    ModelStatus status = tee.status(name);
    ModelSpec made = status == null ? null : status.spec().orElse(null);
    Ring now = ring;
    if (readers.isEmpty()) {
      return null;
    }
    if (now != null && now.spec().made() == made && !now.isOver()) {
      return now.spec();
    }
    retire();
    if (status == null || made == null) {
      return null;
    }
    try {
      Ring next = make(status, made);
      readers.forEach(reader -> reader.attach(next));
      refused = null;
      ring = next;
      return next.spec();
    } catch (NotTeedException e) {
      Refusal before = refused;
      refused = new Refusal(made, e, tee.nanoTime() + RETRY_NANOS);
      if (before == null || before.made() != made) {
        log.warn("requests are not copied: {}", e.getMessage());
      }
      return null;
    } finally {
      readers.forEach(BatchReader::wake);
    }
  }

  private Ring make(ModelStatus status, ModelSpec made) throws NotTeedException {
    if (lastMade != made) {
      lastMade = made;
      generation++;
    }
    TeeSpec spec = TeeSpec.of(status, generation, tee.batchRows());
    return tee.ring(spec, counts);
  }

  private void retire() {
    Ring old = ring;
    ring = null;
    retired.removeIf(Ring::isOver);
    if (old != null) {
      old.retire();
      if (!old.isOver()) {
        retired.add(old);
      }
    }
  }

  /** A batch is full. */
  void filled() {
    for (BatchReader reader : readers) {
      reader.wake();
    }
  }

  /** A reader has closed. */
  void left(BatchReader reader) {
    synchronized (this) {
      readers.remove(reader);
      if (readers.isEmpty()) {
        Ring old = ring;
        ring = null;
        if (old != null) {
          old.discardAll();
        }
        retired.forEach(Ring::discardAll);
        retired.clear();
        refused = null;
      }
    }
  }

  /** Rows in its rings. */
  long stored() {
    Ring now = ring;
    long rows = now == null ? 0 : now.stored();
    for (Ring old : retired) {
      rows += old.stored();
    }
    return rows;
  }

  /** Rows that its ring has room for; 0 without one. */
  long capacity() {
    Ring now = ring;
    return now == null ? 0 : now.capacity();
  }

  /** Retires a ring of files that serve no more. On the thread {@code tee}. */
  void look() {
    Ring now = ring;
    if (now != null && now.spec().made() != serving()) {
      prepareNow();
    }
  }

  /** Takes no more rows; whole batches can still be read. */
  synchronized void end() {
    retire();
    readers.forEach(BatchReader::wake);
  }
}
