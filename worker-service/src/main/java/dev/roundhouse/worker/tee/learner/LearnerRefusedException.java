package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;

/** A learner is not served; the message tells it why. */
final class LearnerRefusedException extends Exception {
  private final HelloStatus status;

  LearnerRefusedException(HelloStatus status, String message) {
    super(message);
    this.status = status;
  }

  HelloStatus status() {
    return status;
  }
}
