package dev.roundhouse.gateway.placement;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the fleet's models need, from what its workers say they have done. A worker that is seen for
 * the first time, or again after a restart, is only noted: what it did before counts for nothing.
 * Not thread-safe.
 */
public final class FleetMeter {
  private double halfLifeSeconds;
  private final Map<String, Map<String, ModelTotals>> baselines = new HashMap<>();
  private final Map<String, ModelTotals> since = new HashMap<>();
  private final Map<String, Measured> measured = new HashMap<>();
  private double computeSeconds;
  private long sinceNanos;

  private record Measured(Ewma rate, Ewma perRequest, Ewma perItem) {
    static final Measured NOTHING = new Measured(Ewma.UNMEASURED, Ewma.UNMEASURED, Ewma.UNMEASURED);
  }

  /**
   * @param halfLifeSeconds of the fleet's device time, after which a sample counts for half
   * @param nowNanos when measuring begins
   */
  public FleetMeter(double halfLifeSeconds, long nowNanos) {
    setHalfLife(halfLifeSeconds);
    sinceNanos = nowNanos;
  }

  /** Changes the half-life, for samples from now on. */
  public void setHalfLife(double halfLifeSeconds) {
    if (!(halfLifeSeconds > 0)) {
      throw new IllegalArgumentException(
          "half-life is " + halfLifeSeconds + " s of device time; it is above 0");
    }
    this.halfLifeSeconds = halfLifeSeconds;
  }

  /**
   * Takes what a worker says it has done for each of its models since it started.
   *
   * @param totals by model; kept, and not changed any more
   */
  public void observe(String worker, Map<String, ModelTotals> totals) {
    Map<String, ModelTotals> before = baselines.put(worker, totals);
    if (before == null) {
      return;
    }
    totals.forEach(
        (model, total) -> {
          ModelTotals last = before.getOrDefault(model, ModelTotals.NONE);
          if (!total.equals(last) && total.isSince(last)) {
            ModelTotals more = total.minus(last);
            since.merge(model, more, ModelTotals::plus);
            computeSeconds += more.computeSeconds();
          }
        });
  }

  /** Forgets workers that are no more, so that one which comes back is seen for the first time. */
  public void retain(Set<String> workers) {
    baselines.keySet().retainAll(workers);
  }

  /** Device time of the whole fleet since {@link #fold}. */
  public double computeSeconds() {
    return computeSeconds;
  }

  /**
   * Merges what was seen since the last call into the totals, and begins anew. A model that no
   * worker has is forgotten.
   */
  public void fold(long nowNanos) {
    double seconds = (nowNanos - sinceNanos) / 1e9;
    if (seconds > 0 && computeSeconds > 0) {
      Set<String> models = new HashSet<>(since.keySet());
      baselines.values().forEach(its -> models.addAll(its.keySet()));
      measured.keySet().retainAll(models);
      measured.keySet().forEach(model -> since.putIfAbsent(model, ModelTotals.NONE));
      since.forEach((model, totals) -> measured.put(model, with(model, totals, seconds)));
    }
    since.clear();
    computeSeconds = 0;
    sinceNanos = nowNanos;
  }

  private Measured with(String model, ModelTotals totals, double seconds) {
    Measured before = measured.getOrDefault(model, Measured.NOTHING);
    Ewma rate = before.rate().with(totals.requests() / seconds, computeSeconds, halfLifeSeconds);
    if (totals.requests() == 0) {
      return new Measured(rate, before.perRequest(), before.perItem());
    }
    double compute = totals.computeSeconds();
    return new Measured(
        rate,
        before.perRequest().with(compute / totals.requests(), computeSeconds, halfLifeSeconds),
        before
            .perItem()
            .with(compute / Math.max(1, totals.items()), computeSeconds, halfLifeSeconds));
  }

  /** Device seconds per second that a model needs; 0 for an unused one. */
  public double utilization(String model) {
    Measured known = measured.getOrDefault(model, Measured.NOTHING);
    return known.rate().isMeasured() && known.perRequest().isMeasured()
        ? known.rate().value() * known.perRequest().value()
        : 0;
  }

  /** Requests of a model in a second; NaN when nothing was seen. */
  public double rate(String model) {
    return measured.getOrDefault(model, Measured.NOTHING).rate().value();
  }

  /** Device seconds of a request; NaN when none was seen. */
  public double secondsPerRequest(String model) {
    return measured.getOrDefault(model, Measured.NOTHING).perRequest().value();
  }

  /** Device seconds of an item; NaN when none was seen. */
  public double secondsPerItem(String model) {
    return measured.getOrDefault(model, Measured.NOTHING).perItem().value();
  }
}
