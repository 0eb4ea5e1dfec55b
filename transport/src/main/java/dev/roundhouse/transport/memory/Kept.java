package dev.roundhouse.transport.memory;

import java.util.Locale;

/** What memory is held for. */
public enum Kept {
  /** A socket with its handlers, header tables and TLS state. */
  CONNECTION(true),
  /** A call or a stream with its metadata, for as long as it is open, and a stream's open turns. */
  CALL(true),
  /** A request's bytes, from arrival until the engine counts them or they are freed. */
  MESSAGE(false),
  /** A decompressed request, and the state of its decompressor. */
  INFLATED(false),
  /**
   * A request's body over HTTP, as sent, decompressed and parsed, until the engine counts it or it
   * is freed.
   */
  BODY(false),
  /** An answer that is counted nowhere else, until it has been sent. */
  ANSWER(false),
  /** The refusal of a call, until it has been sent. */
  REFUSAL(false);

  private final boolean standing;

  Kept(boolean standing) {
    this.standing = standing;
  }

  /** True for what lasts as long as the peer likes; the rest ends with its request. */
  boolean isStanding() {
    return standing;
  }

  /** Name in metrics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
