package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicLong;

/** A worker as one model's requests see it. What is on its way is guarded by the model's router. */
final class Replica {
  final String worker;
  final WorkLedger ledger;
  final AtomicLong routed = new AtomicLong();

  /** Items on their way. */
  long items;

  Replica(String worker, WorkLedger ledger) {
    this.worker = worker;
    this.ledger = ledger;
  }

  /** Full batches on their way. */
  long batches(long quantum) {
    return items / quantum;
  }
}
