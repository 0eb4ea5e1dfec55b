package dev.roundhouse.kserve.codec;

import java.nio.ByteBuffer;

/** Where the elements of an input are, as a request says it. */
public sealed interface TensorSource {
  /** The request has none for the input. */
  TensorSource NONE = new None();

  /** The input has elements one by one, in a request that has raw contents. */
  TensorSource TYPED_BESIDE_RAW = new TypedBesideRaw();

  /**
   * Raw: row-major, little-endian, BYTES elements each with a 4-byte length.
   *
   * @param data read-only; may be the memory of the message
   */
  record Raw(ByteBuffer data) implements TensorSource {}

  /** One by one, in the field of their type. */
  record Typed(TypedElements elements) implements TensorSource {}

  record None() implements TensorSource {}

  record TypedBesideRaw() implements TensorSource {}
}
