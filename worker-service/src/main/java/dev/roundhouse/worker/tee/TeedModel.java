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
  private final String whatFailed;
  private final Tee tee;
  private final TeeCounts counts = new TeeCounts();
  private final List<BatchReader> readers = new CopyOnWriteArrayList<>();
  private final AtomicBoolean preparing = new AtomicBoolean();
  private volatile @Nullable Ring ring;
  private volatile @Nullable Refusal refused;

  /** Not all readers could be told of a batch that became full. */
  private volatile boolean hasUntold;

  /** Guarded by this. */
  private @Nullable ModelSpec lastMade;

  /** Guarded by this. */
  private long generation;

  /** Rings that take no more, and are not read to their end. */
  private final List<Ring> retired = new CopyOnWriteArrayList<>();

  /**
   * @param made the files that it holds for
   * @param drop why their rows are not taken
   * @param untilNanos on the tee's clock, unless it is for good
   */
  private record Refusal(ModelSpec made, NotTeedException why, Drop drop, long untilNanos) {}

  TeedModel(String name, Tee tee) {
    this.name = name;
    this.tee = tee;
    whatFailed = "requests of model '" + name + "' could not be copied";
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
      if (now.why().isForGood() || tee.nanoTime() - now.untilNanos() < 0) {
        return now.drop();
      }
    }
    prepare();
    return Drop.PREPARING;
  }

  /** Has a ring made of what serves now. Does not wait. */
  private void prepare() {
    if (!preparing.compareAndSet(false, true)) {
      return;
    }
    boolean isTaken = false;
    try {
      tee.execute(
          () -> {
            preparing.set(false);
            prepareNow();
          });
      isTaken = true;
    } finally {
      if (!isTaken) { // or nobody would ever ask again
        preparing.set(false);
      }
    }
  }

  /** A reader from now on; closed by whoever asked for it. */
  BatchReader read(Runnable wake) {
    BatchReader reader = new BatchReader(this, wake);
    synchronized (this) {
      Ring now = ring;
      if (now != null && now.spec().made() == serving()) {
        reader.attach(now);
      }
      readers.add(reader);
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
      return attached(make(status, made));
    } catch (NotTeedException e) {
      refuse(made, e, e.isForGood() ? Drop.NOT_FIXED : Drop.MEMORY);
      return null;
    } catch (RuntimeException | Error e) {
      say(e);
      NotTeedException why =
          new NotTeedException(
              "requests of model '%s' cannot be copied now: something is wrong in the server; see its log"
                  .formatted(name),
              false);
      refuse(made, why, Drop.FAILED);
      return null;
    } finally {
      tellReaders();
    }
  }

  /** Gives a new ring to the readers. */
  private TeeSpec attached(Ring next) {
    boolean isAttached = false;
    try {
      readers.forEach(reader -> reader.attach(next));
      isAttached = true;
    } finally {
      if (!isAttached) {
        next.discardAll();
      }
    }
    refused = null;
    ring = next;
    return next.spec();
  }

  private void refuse(ModelSpec made, NotTeedException why, Drop drop) {
    Refusal before = refused;
    refused = new Refusal(made, why, drop, tee.nanoTime() + RETRY_NANOS);
    if (before == null || before.made() != made) {
      log.warn("requests are not copied: {}", why.getMessage());
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

  /** There may be another batch, or none any more. Throws nothing. */
  void tellReaders() {
    for (BatchReader reader : readers) {
      try {
        reader.wake();
      } catch (RuntimeException | Error e) { // they are told again when all is looked after
        hasUntold = true;
        say(e);
      }
    }
  }

  /** Rows could not be copied, because something went wrong. Throws nothing. */
  void failed(Throwable why, long rows) {
    counts.dropped(Drop.FAILED, rows);
    say(why);
  }

  void say(Throwable why) {
    tee.failures().say(whatFailed, why);
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
    if (hasUntold) {
      hasUntold = false;
      tellReaders();
    }
    Ring now = ring;
    if (now != null && now.spec().made() != serving()) {
      prepareNow();
    }
  }

  /** Takes no more rows; whole batches can still be read. */
  synchronized void end() {
    retire();
    tellReaders();
  }
}
