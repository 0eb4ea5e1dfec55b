package dev.roundhouse.gateway.route;

/**
 * A worker as one model's requests see it. Its counts are guarded by the lock of the model's
 * router.
 */
final class Replica {
  final String worker;
  final WorkLedger ledger;

  /** Items on their way. */
  long items;

  /** Requests that it was given. */
  long routed;

  Replica(String worker, WorkLedger ledger) {
    this.worker = worker;
    this.ledger = ledger;
  }

  /** Full batches on their way. */
  long batches(long quantum) {
    return items / quantum;
  }
}
