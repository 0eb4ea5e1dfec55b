package dev.roundhouse.measure;

/** Says why the peer cannot run here, and what to do about it. */
public final class PeerAbsentException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String reason;

  public PeerAbsentException(String reason) {
    super(reason);
    this.reason = reason;
  }

  public String reason() {
    return reason;
  }
}
