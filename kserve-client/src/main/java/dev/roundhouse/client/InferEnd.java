package dev.roundhouse.client;

/** Who is told how a call ended: exactly one of these, once, by any thread; must not block. */
interface InferEnd {
  /**
   * @param answer taken; to be closed
   */
  void answered(Answer answer);

  void failed(KServeException failure);
}
