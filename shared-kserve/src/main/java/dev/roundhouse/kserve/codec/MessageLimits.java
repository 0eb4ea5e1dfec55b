package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;

/**
 * What one ModelInfer message may hold, whatever its size. Nothing that a stock client sends comes
 * near them; they keep a message from becoming many times larger in memory than it is on the wire.
 */
public final class MessageLimits {
  public static final int INPUTS = 4096;
  public static final int OUTPUTS = 4096;
  public static final int RAW_CONTENTS = INPUTS;
  public static final int DIMENSIONS = 64;

  /** Of the request, its inputs and its requested outputs together. */
  public static final int PARAMETERS = 16_384;

  /** Of those that are passed on to a request's model. */
  public static final int MODEL_PARAMETERS = 256;

  /** Of names and texts of these together. */
  public static final int MODEL_PARAMETER_CHARACTERS = 64 << 10;

  /**
   * Of a name (of a model, a tensor, a region of shared memory, a parameter), a version, a datatype
   * or the text that a sequence is known by: what a server keeps by it, and says of it again.
   */
  public static final int NAME_BYTES = 255;

  /** Of a request's id. */
  public static final int ID_BYTES = 1024;

  /** Of a parameter's text. */
  public static final int TEXT_BYTES = 1 << 20;

  /**
   * By how many bytes typed elements may be larger in memory than they were on the wire. An INT64
   * takes one byte on the wire when it is small, and eight in memory.
   */
  public static final long TYPED_GROWTH_BYTES = 64L << 20;

  private MessageLimits() {}

  /** Refuses a name that is longer than names may be. */
  public static void requireName(String what, String name) {
    if (name.length() > NAME_BYTES) {
      throw WireException.invalidArgument(
          "%s has %d characters, the limit is %d; it begins with '%s'"
              .formatted(what, name.length(), NAME_BYTES, name.substring(0, 40)));
    }
  }

  /** How a name is refused that has more bytes than names may have. */
  public static WireException tooLong(String what, int bytes) {
    return exceeded(what, bytes + " bytes", NAME_BYTES);
  }

  /** How a request is refused that has more than it may. */
  public static WireException exceeded(String what, String value, long limit) {
    return WireException.invalidArgument(
        what + " has " + value + ", the limit is " + limit + " in one request");
  }
}
