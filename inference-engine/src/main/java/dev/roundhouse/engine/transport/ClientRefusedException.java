package dev.roundhouse.engine.transport;

/** Why the server does not take what a client wants. The message is for the client. */
@SuppressWarnings("serial") // never serialised
public final class ClientRefusedException extends Exception {
  private final Reason reason;

  /** Kinds of refusal, as a transport would tell them apart. */
  public enum Reason {
    /** Who it is is not known, and has to be. HTTP has 401 for it, gRPC UNAUTHENTICATED. */
    UNAUTHENTICATED,
    /** It may not, whatever it shows. 403, PERMISSION_DENIED. */
    DENIED,
    /** It has used up what it may; later it may again. 429, RESOURCE_EXHAUSTED. */
    QUOTA,
    /** There is no memory for it now. 429 or 503, RESOURCE_EXHAUSTED. */
    NO_ROOM,
    /** The server stops, or cannot tell just now. 503, UNAVAILABLE. */
    UNAVAILABLE
  }

  public ClientRefusedException(Reason reason, String message) {
    super(message, null, false, false);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
