package dev.roundhouse.kserve.codec;

/** What a parameter says, in one of the protocol's types. */
public sealed interface ParameterValue {
  /** Named in a message without a value. */
  ParameterValue UNSET = new Unset();

  record Flag(boolean value) implements ParameterValue {}

  record Signed(long value) implements ParameterValue {}

  /**
   * @param value to be read as unsigned
   */
  record Unsigned(long value) implements ParameterValue {}

  record Real(double value) implements ParameterValue {}

  record Text(String value) implements ParameterValue {}

  record Unset() implements ParameterValue {}
}
