package dev.roundhouse.kserve.codec;

/**
 * A request that matched the {@link RequestTemplate} of a checked one, and so is valid too.
 *
 * @param memory of raw tensors
 */
record KnownMessage(WireRequest request, MessageMemory memory) implements InferMessage {
  @Override
  public String modelName() {
    return request.modelName();
  }

  @Override
  public String id() {
    return request.id();
  }
}
