package dev.roundhouse.gateway.route;

import io.grpc.Status;

/** Hears how requests have ended with their workers. Called on event loops: it must not block. */
@FunctionalInterface
public interface RouteListener {
  /** Hears nothing. */
  RouteListener NONE = (model, worker, status, nanos, followed) -> {};

  /**
   * @param model as the client wrote it
   * @param nanos from the choice of the worker on
   * @param followed whether another worker is asked
   */
  void ended(String model, String worker, Status status, long nanos, boolean followed);
}
