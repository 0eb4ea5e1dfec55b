package dev.roundhouse.bundle.bytecode;

/** Bytes are not bytecode as this package knows it; the message says what and where. */
public final class MalformedBytecodeException extends RuntimeException {
  public MalformedBytecodeException(String message) {
    super(message);
  }
}
