package dev.roundhouse.gateway.route;

import io.grpc.Status;
import java.util.concurrent.atomic.LongAdder;

/** What became of the calls that one worker was given; a stream is one. Thread-safe. */
public final class WorkerCalls {
  private final LongAdder answered = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder followed = new LongAdder();
  private final LongAdder hedged = new LongAdder();
  private final LongAdder taken = new LongAdder();
  private final LongAdder won = new LongAdder();

  /** A call has ended here; one that its client took back is no failure. */
  void end(Status status) {
    switch (status.getCode()) {
      case OK -> answered.increment();
      case CANCELLED -> {}
      default -> failed.increment();
    }
  }

  /** It could not answer a call, and another worker is asked. */
  void follow() {
    followed.increment();
  }

  /** It has not answered a call in time, and another worker is asked as well. */
  void hedge() {
    hedged.increment();
  }

  /** It is asked as well, because another worker has not answered in time. */
  void take() {
    taken.increment();
  }

  /** Its answer to such a call was used. */
  void win() {
    won.increment();
  }

  /** Calls that ended well. */
  public long answered() {
    return answered.sum();
  }

  /** Calls that ended with an error, whoever was to blame; also those that another answered. */
  public long failed() {
    return failed.sum();
  }

  /** Calls that it could not answer and that went on to another worker. */
  public long followed() {
    return followed.sum();
  }

  /** Calls that it had not answered in time and that were sent to another worker too. */
  public long hedged() {
    return hedged.sum();
  }

  /** Such calls of other workers that were sent to it. */
  public long taken() {
    return taken.sum();
  }

  /** Those of them that it answered first. */
  public long won() {
    return won.sum();
  }
}
