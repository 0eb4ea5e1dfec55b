package dev.roundhouse.gateway.route;

import dev.roundhouse.platform.telemetry.SpanExport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What all attempts share.
 *
 * @param refresh called when a worker lacks what it was seen with; returns at once
 * @param ejection of workers that cannot be reached
 * @param hedging of slow requests
 * @param listener told of every request's end
 * @param ledgers each worker's outstanding work
 * @param calls what became of each worker's
 * @param spans of requests; null when none has any
 */
record RouteContext(
    Runnable refresh,
    Ejection ejection,
    Hedging hedging,
    RouteListener listener,
    Function<String, WorkLedger> ledgers,
    Function<String, WorkerCalls> calls,
    @Nullable SpanExport spans) {

  /** The same for what is no inference. */
  RouteContext withoutSpans() {
    return new RouteContext(refresh, ejection, hedging, listener, ledgers, calls, null);
  }

  /** Adds work to a worker that is chosen without a router. */
  Reservation reserve(String worker, long work) {
    return ledgers.apply(worker).reserve(worker, work);
  }
}
