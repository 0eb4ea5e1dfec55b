package dev.roundhouse.kserve.tstream;

/** What a server sends after its reply; the number on the wire is the ordinal. */
public enum RecordKind {
  /**
   * The one end of a message: its outputs when the status is 0, else a u32 and that many bytes of
   * text.
   */
  RESULT,
  /** Messages up to this one are the server's; nothing follows the header. */
  ACCEPTED,
  /** The model was replaced: its new generation and digest follow, two u64. */
  GENERATION,
  /** No message after this one is taken; nothing follows the header. */
  DRAINING,
  /** Another window; it follows, a u32. */
  WINDOW,
  /**
   * The connection ends because of what the client sent: a u32 and that many bytes of text follow.
   */
  CLOSED;

  static RecordKind of(int number) throws MalformedStreamException {
    if (number < 0 || number >= values().length) {
      throw new MalformedStreamException(
          "a record has kind %d, and %d is the last".formatted(number, values().length - 1));
    }
    return values()[number];
  }
}
