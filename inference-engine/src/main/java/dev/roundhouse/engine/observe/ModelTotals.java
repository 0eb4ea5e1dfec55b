package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import java.util.Arrays;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Counts for a name: its current and freed versions, and requests refused before a version was
 * found. Never falls when a version is freed. Any thread may read; a reader sees each number, not
 * one moment.
 */
public final class ModelTotals {
  private static final Parts NOTHING =
      new Parts(
          new long[Metric.values().length],
          InferenceReading.NOTHING,
          InferenceReading.NOTHING,
          new Live[0]);

  private volatile Parts parts = NOTHING;

  /** Made with the first refusal: most names never have one. */
  private volatile @Nullable ModelCounters refused;

  /** Takes a version's counters in. */
  public void add(ModelCounters version) {
    add(version, version);
  }

  /**
   * As {@link #add(ModelCounters)}, of a version whose programs others call on its behalf.
   *
   * @param programs what they count; its requests are the version's own, and not counted again
   */
  public synchronized void add(ModelCounters version, ModelCounters programs) {
    Live[] live = Arrays.copyOf(parts.live, parts.live.length + 1);
    live[live.length - 1] = new Live(version, programs);
    parts = new Parts(parts.freed, parts.freedAnswered, parts.freedRan, live);
  }

  /** Keeps what a version has counted and lets go of its counters, which change no more. */
  public synchronized void keep(ModelCounters version) {
    int index = 0;
    while (index < parts.live.length && parts.live[index].version != version) {
      index++;
    }
    if (index == parts.live.length) {
      return;
    }
    Live leaving = parts.live[index];
    long[] freed = parts.freed.clone();
    for (Metric metric : Metric.values()) {
      freed[metric.ordinal()] += leaving.get(metric);
    }
    Live[] live = new Live[parts.live.length - 1];
    System.arraycopy(parts.live, 0, live, 0, index);
    System.arraycopy(parts.live, index + 1, live, index, live.length - index);
    parts =
        new Parts(
            freed,
            parts.freedAnswered.plus(leaving.version.answered()),
            parts.freedRan.plus(leaving.programs.answered()),
            live);
  }

  /** Counts a request that was turned away. */
  public void countRefused(Status status) {
    ModelCounters counters = refused;
    Ledger.SHARED.add(counters == null ? refused() : counters, Metric.ofRefusal(status));
  }

  private synchronized ModelCounters refused() {
    ModelCounters counters = refused;
    if (counters == null) {
      counters = new ModelCounters();
      refused = counters;
    }
    return counters;
  }

  public long get(Metric metric) {
    Parts seen = parts;
    ModelCounters turnedAway = refused;
    return seen.freed[metric.ordinal()]
        + seen.sum(each -> each.get(metric))
        + (turnedAway == null ? 0 : turnedAway.get(metric));
  }

  /**
   * A number that differs from what it was before whenever {@link #get} or {@link #waiting} tell
   * something else, but for one chance in 2^64: for those who look often at many that idle.
   */
  public long fingerprint() {
    Parts seen = parts;
    ModelCounters turnedAway = refused;
    long hash = turnedAway == null ? 0 : turnedAway.fingerprint();
    for (Live each : seen.live) {
      hash = hash * ModelCounters.FINGERPRINT_FACTOR + each.version.fingerprint();
      if (each.programs != each.version) {
        hash = hash * ModelCounters.FINGERPRINT_FACTOR + each.programs.fingerprint();
      }
    }
    return hash;
  }

  /** What answered requests took. */
  public InferenceReading answered() {
    Parts seen = parts;
    InferenceReading sum = seen.freedAnswered;
    for (Live each : seen.live) {
      sum = sum.plus(each.version.answered());
    }
    return sum;
  }

  /** What the requests took that programs ran for, whoever called them, and their runs. */
  public InferenceReading ran() {
    Parts seen = parts;
    InferenceReading sum = seen.freedRan;
    for (Live each : seen.live) {
      sum = sum.plus(each.programs.answered());
    }
    return sum;
  }

  /** Requests that are accepted and not yet in a batch. */
  public int waiting() {
    return Math.toIntExact(parts.sum(each -> each.programs.waiting()));
  }

  /** Accepted requests that have not ended; 0 at every quiescent point. */
  public long open() {
    return parts.sum(each -> each.version.open());
  }

  /** Accepted requests that were dropped before they ran, for whatever reason. */
  public long shed() {
    long sum = 0;
    for (ShedReason reason : ShedReason.values()) {
      sum += get(Metric.of(reason));
    }
    return sum;
  }

  /**
   * When the request that has waited longest at the front of a version's queue arrived, or {@link
   * ModelCounters#NONE_WAITS}.
   */
  public long frontArrivalNanos() {
    long earliest = ModelCounters.NONE_WAITS;
    for (Live each : parts.live) {
      earliest = Math.min(earliest, each.programs.frontArrivalNanos());
    }
    return earliest;
  }

  /** A version, and what runs for it: itself, unless it calls programs of its own. */
  private record Live(ModelCounters version, ModelCounters programs) {
    long get(Metric metric) {
      return (metric.isOfPrograms() ? programs : version).get(metric);
    }
  }

  /**
   * Replaced whole, so that a version is always counted once.
   *
   * @param freed by metric: what freed versions counted
   * @param freedAnswered what their answered requests took
   * @param freedRan what the requests took that their programs ran for
   */
  @SuppressWarnings("ArrayRecordComponent") // never written after construction
  private record Parts(
      long[] freed, InferenceReading freedAnswered, InferenceReading freedRan, Live[] live) {
    long sum(ToLongFunction<Live> figure) {
      long sum = 0;
      for (Live each : live) {
        sum += figure.applyAsLong(each);
      }
      return sum;
    }
  }
}
