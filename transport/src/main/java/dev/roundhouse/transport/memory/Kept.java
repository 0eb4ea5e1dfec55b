package dev.roundhouse.transport.memory;

import java.util.Locale;

/** What a peer makes a server keep. */
public enum Kept {
  /** A socket with its handlers, header tables and TLS state. */
  CONNECTION(true),
  /** A call or a stream with its metadata, for as long as it is open, and a stream's open turns. */
  CALL(true),
  /** A request's bytes, from the first on until the engine counts them or they are let go. */
  MESSAGE(false),
  /** What came out of a compressed request, and what undoes the compression. */
  INFLATED(false),
  /**
   * A request's body over HTTP, what came out of it, and what is made of it, until the engine
   * counts it or it is let go.
   */
  BODY(false),
  /** An answer that nothing else counts, until it has left. */
  ANSWER(false),
  /** How a call was refused, until it has left. */
  REFUSAL(false);

  private final boolean standing;

  Kept(boolean standing) {
    this.standing = standing;
  }

  /** True for what lasts as long as the peer likes, and not only until it has been dealt with. */
  boolean isStanding() {
    return standing;
  }

  /** As metrics say it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
