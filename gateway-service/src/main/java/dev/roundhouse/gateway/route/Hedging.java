package dev.roundhouse.gateway.route;

import dev.roundhouse.transport.forward.CallRouter.Route;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Decides when, if ever, an unanswered call is sent to a second worker. Thread-safe. */
public final class Hedging {
  /** Nothing is sent twice. */
  public static final Hedging OFF = new Hedging(0, 0, 0);

  private final long delayNanos;
  private final double quantile;
  private final HedgeBudget budget;
  private final Map<String, FirstAnswers> models = new ConcurrentHashMap<>();
  private final LongAdder started = new LongAdder();
  private final LongAdder won = new LongAdder();
  private final LongAdder refused = new LongAdder();

  /**
   * @param delayNanos that a call waits at least; 0 for no hedging
   * @param quantile of a model's recent times to the start of an answer, which its calls wait if
   *     longer; 0 for none
   * @param maxShare of calls that may be sent to a second worker
   */
  public Hedging(long delayNanos, double quantile, double maxShare) {
    this.delayNanos = delayNanos;
    this.quantile = quantile;
    budget = new HedgeBudget(maxShare);
  }

  boolean isOn() {
    return delayNanos > 0;
  }

  /** A call that may be hedged has begun; returns how long it waits first. */
  long begin(String model) {
    if (!isOn()) {
      return Route.NEVER;
    }
    budget.call();
    FirstAnswers recent = models.get(model);
    return recent == null ? delayNanos : Math.max(delayNanos, recent.nanos());
  }

  /** A call was answered, this long after its whole request had arrived. */
  void answered(String model, long nanos) {
    if (quantile > 0) {
      models.computeIfAbsent(model, unknown -> new FirstAnswers(quantile)).add(nanos);
    }
  }

  /** True when one more call may be hedged; then {@link #started}, or give it back. */
  boolean take() {
    if (budget.take()) {
      return true;
    }
    refused.increment();
    return false;
  }

  /** There is no second worker after all. */
  void giveBack() {
    budget.giveBack();
  }

  /** A call is sent to a second worker. */
  void started() {
    started.increment();
  }

  /** The second worker's answer was used. */
  void won() {
    won.increment();
  }

  /** Forgets models that are no longer served. */
  void retain(Set<String> served) {
    models.keySet().retainAll(served);
  }

  /** Calls that were sent to a second worker. */
  public long startedEver() {
    return started.sum();
  }

  /** Those of them that the second worker answered. */
  public long wonEver() {
    return won.sum();
  }

  /** Calls that waited long enough but exceeded the share. */
  public long refusedEver() {
    return refused.sum();
  }
}
