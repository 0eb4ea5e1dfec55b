package dev.roundhouse.engine.floor;

/** Host memory for weights is not available. The message says how much, why, and what to do. */
public final class FloorException extends RuntimeException {
  FloorException(String message) {
    super(message);
  }
}
