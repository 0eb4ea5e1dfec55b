package dev.roundhouse.kserve.codec;

/**
 * A ModelInfer request as it was read, whatever it was written in; {@link RequestCheck} says
 * whether it makes sense. Immutable, but for the memory of raw tensors, which may be the message's.
 */
public sealed interface InferMessage permits ReadMessage, KnownMessage {
  String modelName();

  /** Empty for none. */
  String id();

  /** Of raw tensors. */
  MessageMemory memory();
}
