package dev.roundhouse.gateway.route;

import java.util.function.Function;

/**
 * What all attempts share.
 *
 * @param refresh called when a worker lacks what it was seen with; returns at once
 * @param ejection of workers that cannot be reached
 * @param hedging of slow requests
 * @param listener told of every request's end
 * @param ledgers each worker's outstanding work
 */
record RouteContext(
    Runnable refresh,
    Ejection ejection,
    Hedging hedging,
    RouteListener listener,
    Function<String, WorkLedger> ledgers) {

  /** Adds work to a worker that is chosen without a router. */
  Reservation reserve(String worker, long work) {
    return ledgers.apply(worker).reserve(worker, work);
  }
}
