package dev.roundhouse.benchmarks.engine;

/** Says why the peer cannot run here, and what to do about it. */
final class PeerAbsentException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String reason;

  PeerAbsentException(String reason) {
    super(reason);
    this.reason = reason;
  }

  String reason() {
    return reason;
  }
}
