package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.Status;
import dev.roundhouse.kserve.status.WireStatus;

/** The one place where the engine's statuses become the wire's. */
final class StatusTable {
  private StatusTable() {}

  static WireStatus toWire(Status status) {
    return switch (status) {
      case INVALID_ARGUMENT -> WireStatus.INVALID_ARGUMENT;
      case NOT_FOUND -> WireStatus.NOT_FOUND;
      case FAILED_PRECONDITION -> WireStatus.FAILED_PRECONDITION;
      case RESOURCE_EXHAUSTED -> WireStatus.RESOURCE_EXHAUSTED;
      case NOT_READY, UNAVAILABLE -> WireStatus.UNAVAILABLE;
      case DEADLINE_EXCEEDED -> WireStatus.DEADLINE_EXCEEDED;
      case CANCELLED -> WireStatus.CANCELLED;
      case UNIMPLEMENTED -> WireStatus.UNIMPLEMENTED;
      case INTERNAL -> WireStatus.INTERNAL;
    };
  }
}
