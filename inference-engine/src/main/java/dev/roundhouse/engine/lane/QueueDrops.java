package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;

/** Ends waiting requests without a run, and says what their callers are told. */
public final class QueueDrops {
  /** What callers are told when the loop has stopped. */
  public static final Outcome STOPPING =
      new Outcome.Shed(
          ShedReason.STOPPING, Status.UNAVAILABLE, "Server exiting; send the request elsewhere");

  private final Accounting accounting;

  public QueueDrops(Accounting accounting) {
    this.accounting = accounting;
  }

  /** It can no longer be answered in time, or has waited too long. */
  public void late(ModelLane lane, QueuedRequest request, long nowNanos) {
    ShedReason reason = reason(request, nowNanos);
    accounting.end(
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

  /** Its caller does not want what is left of it. */
  public void cancelled(QueuedRequest request) {
    accounting.end(request, waitingState(request), Outcome.Cancelled.BY_CALLER);
  }

  /** Ends the first that waits, letting go of what is over already. */
  public void first(ModelLane lane, Outcome outcome) {
    lane.queue().dropEnded();
    if (!lane.queue().isEmpty()) {
      QueuedRequest front = lane.queue().remove();
      accounting.end(front, waitingState(front), outcome);
    }
  }

  /** Ends all that wait. */
  public void all(ModelLane lane, Outcome outcome) {
    while (!lane.queue().isEmpty()) {
      first(lane, outcome);
    }
  }

  /** The loop stops. */
  public void stopping(QueuedRequest request) {
    accounting.end(request, waitingState(request), STOPPING);
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
