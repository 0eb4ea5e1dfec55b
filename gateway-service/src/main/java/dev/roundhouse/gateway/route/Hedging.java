package dev.roundhouse.gateway.route;

import dev.roundhouse.transport.forward.CallRouter.Route;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Says when a call that has no answer yet is sent to a second worker, if ever. Thread-safe. */
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
   * @param quantile of a model's recent times to the first of an answer, that its calls wait where
   *     that is longer; 0 for none
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

  /** A call of the model has begun, which may be sent twice; how long it waits before it is. */
  long begin(String model) {
    if (!isOn()) {
      return Route.NEVER;
    }
    budget.call();
    FirstAnswers recent = models.get(model);
    return recent == null ? delayNanos : Math.max(delayNanos, recent.nanos());
  }

  /** A call of the model was answered, so long after all of its request was here. */
  void answered(String model, long nanos) {
    if (quantile > 0) {
      models.computeIfAbsent(model, unknown -> new FirstAnswers(quantile)).add(nanos);
    }
  }

  /** True when one more call may be sent twice; it is {@link #started}, or given back. */
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

  /** The second worker's answer was the call's. */
  void won() {
    won.increment();
  }

  /** Forgets models that nobody serves. */
  void retain(Set<String> served) {
    models.keySet().retainAll(served);
  }

  /** Calls that were sent to a second worker. */
  public long startedEver() {
    return started.sum();
  }

  /** Of them, those that the second answered. */
  public long wonEver() {
    return won.sum();
  }

  /** Calls that waited long enough and were not sent twice, for too many had been. */
  public long refusedEver() {
    return refused.sum();
  }
}
