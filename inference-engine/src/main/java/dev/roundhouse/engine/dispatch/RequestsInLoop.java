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
 * Ends what a failed loop leaves behind. The loop's parts may be in any state, so each is looked
 * through by itself, and trouble with one does not keep the requests of another waiting.
 */
final class RequestsInLoop {
  private static final Logger log = LoggerFactory.getLogger(RequestsInLoop.class);

  private final Accounting accounting;
  private final Outcome.Failed outcome;

  RequestsInLoop(Accounting accounting, String text) {
    this.accounting = accounting;
    this.outcome = new Outcome.Failed(Status.UNAVAILABLE, text);
  }

  void endBatch(BatchSlot slot) {
    guarded(
        () -> {
          for (int member = 0; member < slot.size(); member++) {
            QueuedRequest request = slot.request(member);
            if (request != null) {
              end(request);
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
                            end(lane.queue().get(i));
                          }
                        })));
  }

  void endHandedOver(Ingress<QueuedRequest> requests) {
    guarded(
        () -> {
          for (QueuedRequest next = requests.poll(); next != null; next = requests.poll()) {
            end(next);
          }
        });
  }

  private void end(QueuedRequest request) {
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
