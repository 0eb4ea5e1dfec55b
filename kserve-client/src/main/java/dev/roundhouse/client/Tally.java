package dev.roundhouse.client;

import java.util.concurrent.atomic.LongAdder;

/** What a client has counted since it was made. */
final class Tally {
  final LongAdder calls = new LongAdder();
  final LongAdder answered = new LongAdder();
  final LongAdder failed = new LongAdder();
  final LongAdder attempts = new LongAdder();
  final LongAdder retriesWithoutBudget = new LongAdder();
  final LongAdder bytesSent = new LongAdder();
  final LongAdder bytesReceived = new LongAdder();
  final LongAdder sharedBytes = new LongAdder();
  final LongAdder registrations = new LongAdder();

  ClientCounters counters() {
    return new ClientCounters(
        calls.sum(),
        answered.sum(),
        failed.sum(),
        attempts.sum(),
        retriesWithoutBudget.sum(),
        bytesSent.sum(),
        bytesReceived.sum(),
        sharedBytes.sum(),
        registrations.sum());
  }
}
