package dev.roundhouse.kserve.tstream;

/** How a server answers a hello; its number on the wire is its ordinal. */
public enum HelloStatus {
  OK,
  /** There is no model of that name and version, or it has no such variant. */
  NO_SUCH_MODEL,
  /** It is not ready at the moment. */
  NOT_READY,
  /** The client's tensors are others than the model's. */
  OTHER_SPEC,
  /** The model's messages have no fixed size, or its answers come in parts. */
  NOT_FIXED,
  /** The client may not do this, or did not say who it is. */
  UNAUTHORISED,
  /** There is no room for the connection; the reply says when to try again. */
  OVERLOADED,
  /** The hello is wrong in itself. */
  BAD_HELLO;

  static HelloStatus of(int number) throws MalformedStreamException {
    if (number < 0 || number >= values().length) {
      throw new MalformedStreamException(
          "the server's reply has status "
              + number
              + ", and "
              + (values().length - 1)
              + " is the last");
    }
    return values()[number];
  }
}
