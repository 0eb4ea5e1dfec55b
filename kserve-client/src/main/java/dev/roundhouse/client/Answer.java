package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelInferResponse;

/**
 * What a server answered.
 *
 * @param stats of the call
 */
record Answer(ModelInferResponse response, CallStats stats) implements AutoCloseable {
  /** The outputs in memory of their own. */
  InferResult read() {
    return AnswerReader.read(response, stats);
  }

  @Override
  public void close() {}
}
