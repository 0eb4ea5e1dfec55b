package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelInferResponse;

/**
 * What a server answered.
 *
 * @param stats of the call
 */
record Answer(ModelInferResponse response, CallStats stats) implements AutoCloseable {
  @Override
  public void close() {}
}
