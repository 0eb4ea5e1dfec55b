package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the requests of a failed loop. Its parts may be in any state, so each is handled on its own:
 * a failure in one does not leave another's requests waiting.
 */
final class RequestsInLoop {
  private static final Logger log = LoggerFactory.getLogger(RequestsInLoop.class);

  private final Accounting accounting;
  private final Outcome.Failed waited;
  private final Outcome.Failed began;

  RequestsInLoop(Accounting accounting, String text) {
    this.accounting = accounting;
    waited = new Outcome.Failed(Status.UNAVAILABLE, text);
    began = new Outcome.Failed(Status.UNAVAILABLE, text, true);
  }

  /** Ends the members of a batch that the device was asked to run. */
  void endBegun(BatchSlot slot) {
    if (slot.hasBegun()) {
      endBatch(slot, began);
    }
  }

  void endBatch(BatchSlot slot) {
    endBatch(slot, waited);
  }

  private void endBatch(BatchSlot slot, Outcome.Failed outcome) {
    guarded(
        () -> {
          for (int member = 0; member < slot.size(); member++) {
            QueuedRequest request = slot.request(member);
            if (request != null) {
              end(request, outcome);
            }
          }
        });
  }

  void endLanes(Lanes lanes) {
    guarded(
        () ->
            lanes.forEach(
                lane ->
                    guarded(
                        () -> {
                          for (int i = 0; i < lane.queue().size(); i++) {
                            end(lane.queue().get(i), waited);
                          }
                        })));
  }

  void endHandedOver(Ingress<QueuedRequest> requests) {
    guarded(
        () -> {
          for (QueuedRequest next = requests.poll(); next != null; next = requests.poll()) {
            end(next, waited);
          }
        });
  }

  private void end(QueuedRequest request, Outcome.Failed outcome) {
    if (!accounting.end(request, State.QUEUED, outcome)) {
      accounting.end(request, State.TAKEN, outcome);
    }
  }

  static void guarded(Runnable part) {
    try {
      part.run();
    } catch (Throwable e) {
      log.error("some requests of a failed engine could not be ended", e);
    }
  }
}
