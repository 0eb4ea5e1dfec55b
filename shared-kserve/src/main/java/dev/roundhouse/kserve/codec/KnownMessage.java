package dev.roundhouse.kserve.codec;

/**
 * A request that has the {@link RequestForm} of one that was checked, and so makes sense as well.
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
