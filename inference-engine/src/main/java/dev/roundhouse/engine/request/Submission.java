package dev.roundhouse.engine.request;

/** A request that has been handed to the engine. Thread-safe. */
public interface Submission {

  InferenceRequest request();

  /** True while it is in a batch, whole or in part: it runs, or is about to. */
  boolean isInBatch();

  /**
   * Takes the request back, whatever it is doing. One that waits ends at once and frees what it
   * held; one that runs ends with its batch, and its batch-mates are not affected.
   *
   * @return false when it is over already
   */
  boolean cancel();
}
