package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InferenceRequest.State;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The ways in which the dispatch thread ends a request, and what it then tells the caller. */
final class Endings {
  private static final Logger log = LoggerFactory.getLogger(Endings.class);
  private static final Outcome STOPPING =
      new Outcome.Shed(
          ShedReason.STOPPING, Status.UNAVAILABLE, "Server exiting; send the request elsewhere");

  private final Accounting accounting;

  Endings(Accounting accounting) {
    this.accounting = accounting;
  }

  /** Answers a running request. */
  void completed(ModelLane lane, InferenceRequest request, Outcome.Completed outcome) {
    end(lane, request, State.RUNNING, outcome);
  }

  /** Ends a running request that its batch, or a part of it, could not be run for. */
  void failed(ModelLane lane, InferenceRequest request, Outcome.Failed outcome) {
    end(lane, request, State.RUNNING, outcome);
  }

  /** Ends a running request whose caller does not want it any more. */
  void cancelled(ModelLane lane, InferenceRequest request) {
    end(lane, request, State.RUNNING, Outcome.Cancelled.BY_CALLER);
  }

  /** Ends a waiting request that can no longer be answered in time. */
  void late(ModelLane lane, InferenceRequest request, long nowNanos) {
    boolean passed = LeadingRun.isLate(request, nowNanos, 0);
    end(
        lane,
        request,
        waitingState(request),
        new Outcome.Shed(
            passed ? ShedReason.DEADLINE_PASSED : ShedReason.TOO_LITTLE_TIME,
            Status.DEADLINE_EXCEEDED,
            "%s after %d us in the queue of model '%s'"
                .formatted(
                    passed ? "deadline passed" : "too little time left for a run",
                    (nowNanos - request.arrivalNanos()) / 1000,
                    lane.model().name())));
  }

  /** Ends a waiting request because the loop stops. */
  void stopping(ModelLane lane, InferenceRequest request) {
    end(lane, request, waitingState(request), STOPPING);
  }

  /** Ends a request that was handed over after the loop had stopped; any thread. */
  void tooLate(ModelLane lane, InferenceRequest request) {
    accounting.end(request, State.QUEUED, lane.counters(), STOPPING);
  }

  /** One that has begun to run piece by piece waits as running. */
  private static State waitingState(InferenceRequest request) {
    return request.rowsTaken() > 0 ? State.RUNNING : State.QUEUED;
  }

  private void end(ModelLane lane, InferenceRequest request, State expected, Outcome outcome) {
    lane.forgetPieces(request);
    try {
      accounting.endOnDispatch(request, expected, lane.counters(), outcome);
    } catch (RuntimeException e) {
      // A caller's fault must not reach the other requests of the batch, nor end the loop.
      log.warn("a request's completion threw; model '{}'", lane.model().name(), e);
    }
  }
}
