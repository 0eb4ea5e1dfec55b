package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.kserve.status.WireStatus;

/** Why a request has no answer, in the protocol's words. */
public final class Outcomes {
  private Outcomes() {}

  /**
   * Why a request has no answer.
   *
   * @throws IllegalArgumentException when it has one
   */
  public static WireException failure(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Refused refused -> failure(refused.status(), refused.message());
      // Not on this device, and nobody brings it: it may be on another server's.
      case Outcome.Failed failed when failed.status() == Status.FAILED_PRECONDITION ->
          WireException.about(About.MODEL, WireStatus.FAILED_PRECONDITION, failed.message());
      case Outcome.Failed failed ->
          new WireException(StatusTable.toWire(failed.status()), failed.message(), failed.began());
      case Outcome.Shed shed when shed.reason() == ShedReason.QUEUE_TIMEOUT ->
          WireException.unavailable(About.REQUEST, shed.message());
      case Outcome.Shed shed -> failure(shed.status(), shed.message());
      case Outcome.Cancelled cancelled ->
          new WireException(WireStatus.CANCELLED, cancelled.message());
      case Outcome.Completed completed ->
          throw new IllegalArgumentException("a request that was answered has no failure");
    };
  }

  private static WireException failure(Status status, String message) {
    return status == Status.NOT_READY
        ? WireException.unavailable(About.MODEL, message)
        : new WireException(StatusTable.toWire(status), message);
  }
}
