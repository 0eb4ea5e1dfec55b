package dev.roundhouse.engine.numerics;

/** A device cannot be used under the policy; the message says why and what to do. */
public final class NumericsException extends RuntimeException {
  public NumericsException(String message) {
    super(message);
  }

  public NumericsException(String message, Throwable cause) {
    super(message, cause);
  }
}
