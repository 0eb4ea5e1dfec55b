package dev.roundhouse.engine.hostweights;

/** Host memory for weights is not available. The message says how much, why, and what to do. */
public final class HostWeightsException extends RuntimeException {
  HostWeightsException(String message) {
    super(message);
  }
}
