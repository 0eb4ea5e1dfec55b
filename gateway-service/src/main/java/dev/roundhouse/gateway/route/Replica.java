package dev.roundhouse.gateway.route;

/**
 * A worker as seen by one model's requests. Its counts are guarded by the lock of the model's
 * router.
 */
final class Replica {
  final String worker;
  final WorkLedger ledger;

  /** Outstanding items. */
  long items;

  /** Requests assigned to it. */
  long routed;

  Replica(String worker, WorkLedger ledger) {
    this.worker = worker;
    this.ledger = ledger;
  }

  /** Outstanding full batches. */
  long batches(long quantum) {
    return items / quantum;
  }
}
