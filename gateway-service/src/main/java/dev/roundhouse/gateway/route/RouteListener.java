package dev.roundhouse.gateway.route;

import io.grpc.Status;

/** Told how requests ended at their workers. Called on event loops: must not block. */
@FunctionalInterface
public interface RouteListener {
  /** Ignores everything. */
  RouteListener NONE = (model, worker, status, nanos, followed) -> {};

  /**
   * @param model as the client wrote it
   * @param nanos since the worker was chosen
   * @param followed whether another worker is asked
   */
  void ended(String model, String worker, Status status, long nanos, boolean followed);
}
