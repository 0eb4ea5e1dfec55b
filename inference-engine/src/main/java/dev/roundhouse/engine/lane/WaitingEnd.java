package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;

/** How a request that waits ends without being run, and what its caller is told. */
public final class WaitingEnd {
  private static final Outcome STOPPING =
      new Outcome.Shed(
          ShedReason.STOPPING, Status.UNAVAILABLE, "Server exiting; send the request elsewhere");

  private final Accounting accounting;

  public WaitingEnd(Accounting accounting) {
    this.accounting = accounting;
  }

  /** It can no longer be answered in time, or has waited too long. Dispatch thread only. */
  public void late(ModelLane lane, QueuedRequest request, long nowNanos) {
    ShedReason reason = reason(request, nowNanos);
    accounting.endOnDispatch(
        request,
        waitingState(request),
        new Outcome.Shed(
            reason,
            // As Triton answers: a queue's own timeout is the server being busy.
            reason == ShedReason.QUEUE_TIMEOUT ? Status.UNAVAILABLE : Status.DEADLINE_EXCEEDED,
            "%s after %d us in the queue of model '%s'"
                .formatted(
                    words(reason),
                    (nowNanos - request.arrivalNanos()) / 1000,
                    lane.model().name())));
  }

  /** Its caller does not want what is left of it. Dispatch thread only. */
  public void cancelled(QueuedRequest request) {
    accounting.endOnDispatch(request, waitingState(request), Outcome.Cancelled.BY_CALLER);
  }

  /**
   * Ends the first that waits, because its model's weights could not be brought to the device; ones
   * that are over are let go of on the way. Dispatch thread only.
   */
  public void notLoaded(ModelLane lane, Throwable failure) {
    lane.queue().dropEnded();
    if (lane.queue().isEmpty()) {
      return;
    }
    QueuedRequest front = lane.queue().remove();
    accounting.endOnDispatch(front, waitingState(front), notLoaded(lane.model().name(), failure));
  }

  /**
   * Ends the first that waits, because its model is not on the device and nobody is to bring it
   * there. Dispatch thread only.
   */
  public void notResident(ModelLane lane) {
    lane.queue().dropEnded();
    if (lane.queue().isEmpty()) {
      return;
    }
    QueuedRequest front = lane.queue().remove();
    accounting.endOnDispatch(
        front,
        waitingState(front),
        new Outcome.Failed(
            Status.FAILED_PRECONDITION,
            "model '%s' is not on the device, and this server brings only what its operator asks for; have it brought by SetModelResidency with PINNED_DEVICE"
                .formatted(lane.model().name())));
  }

  private static Outcome.Failed notLoaded(String model, Throwable failure) {
    if (failure instanceof DeviceException device) {
      Status status =
          device.code() == DeviceException.Code.OUT_OF_MEMORY
              ? Status.RESOURCE_EXHAUSTED
              : Status.UNAVAILABLE;
      return new Outcome.Failed(
          status,
          "weights of model '%s' could not be brought to the device: %s"
              .formatted(model, device.getMessage()));
    }
    return new Outcome.Failed(
        Status.UNAVAILABLE,
        "weights of model '%s' could not be read; the server's log has the cause".formatted(model));
  }

  /** The loop stops. Dispatch thread only. */
  public void stopping(QueuedRequest request) {
    accounting.endOnDispatch(request, waitingState(request), STOPPING);
  }

  /** It was handed over after the loop had stopped; any thread. */
  public void tooLate(QueuedRequest request) {
    accounting.end(request, State.QUEUED, STOPPING);
  }

  private static ShedReason reason(QueuedRequest request, long nowNanos) {
    if (nowNanos >= request.deadlineNanos()) {
      return ShedReason.DEADLINE_PASSED;
    }
    return nowNanos >= request.queueDeadlineNanos()
        ? ShedReason.QUEUE_TIMEOUT
        : ShedReason.TOO_LITTLE_TIME;
  }

  private static String words(ShedReason reason) {
    return switch (reason) {
      case DEADLINE_PASSED -> "deadline passed";
      case QUEUE_TIMEOUT -> "Request timeout expired";
      case TOO_LITTLE_TIME -> "too little time left for a run";
      case NO_ROOM, STOPPING ->
          throw new IllegalArgumentException(reason + " is not a matter of time");
    };
  }

  /** One that has begun to run piece by piece waits as taken. */
  private static State waitingState(QueuedRequest request) {
    return request.hasBegun() ? State.TAKEN : State.QUEUED;
  }
}
