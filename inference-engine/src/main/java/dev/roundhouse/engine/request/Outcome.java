package dev.roundhouse.engine.request;

import org.jspecify.annotations.Nullable;

/** How a request ended. Each ends exactly once. */
public sealed interface Outcome {

  /**
   * It ran, and its answer was handed over.
   *
   * @param modelVersion the version that answered
   * @param receipt null unless it was asked for
   */
  record Completed(String modelVersion, Timings timings, @Nullable Receipt receipt)
      implements Outcome {
    public Completed(String modelVersion, Timings timings) {
      this(modelVersion, timings, null);
    }
  }

  /** It was never accepted: nothing of it was queued or counted as accepted. */
  record Refused(Status status, String message) implements Outcome {}

  /**
   * It was accepted and something went wrong.
   *
   * @param began the engine failed with it on the device: it may be why, and may end another server
   *     that it is sent to
   */
  record Failed(Status status, String message, boolean began) implements Outcome {
    public Failed(Status status, String message) {
      this(status, message, false);
    }
  }

  /** It was accepted and dropped before it ran. */
  record Shed(ShedReason reason, Status status, String message) implements Outcome {}

  /** The caller took it back. */
  record Cancelled(String message) implements Outcome {
    public static final Cancelled BY_CALLER = new Cancelled("the caller cancelled the request");
  }

  /**
   * Where the time went, in nanoseconds; moments are on the engine's clock. A request that needs
   * several batches waits between them too: its parts do not add up to the whole then.
   *
   * @param acceptedNanos when it was accepted
   * @param answeredNanos when its answer was ready to be handed over
   * @param queueNanos from acceptance until its batch was assembled
   * @param computeNanos of the execution it shared
   * @param batchRows rows of that execution that belong to requests
   * @param paddingRows padding rows of it
   */
  record Timings(
      long acceptedNanos,
      long answeredNanos,
      long queueNanos,
      long computeInputNanos,
      long computeNanos,
      long computeOutputNanos,
      int batchRows,
      int paddingRows) {}
}
