package dev.roundhouse.client;

/** Receives the end of a call: exactly one method, once, on any thread; must not block. */
interface InferEnd {
  /**
   * @param answer taken; to be closed
   */
  void answered(Answer answer);

  void failed(KServeException failure);
}
