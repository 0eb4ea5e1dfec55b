package dev.roundhouse.hooks;

/**
 * A hook refuses a request: its caller gets the code and the text, as they are. It says nothing
 * against the bundle, unlike any other exception.
 */
public final class HookException extends RuntimeException {

  /** The codes of gRPC that a hook may answer with. */
  public enum Code {
    /** The request is wrong and will be wrong again. */
    INVALID_ARGUMENT,
    NOT_FOUND,
    FAILED_PRECONDITION,
    /** A limit is reached; may pass later. */
    RESOURCE_EXHAUSTED,
    /** May pass at once; callers may try again. */
    UNAVAILABLE,
    UNIMPLEMENTED,
    INTERNAL
  }

  private final Code code;

  /**
   * @param message for the caller: what is wrong, and what would be right
   */
  public HookException(Code code, String message) {
    super(message);
    this.code = code;
  }

  /** INVALID_ARGUMENT. */
  public static HookException invalid(String message) {
    return new HookException(Code.INVALID_ARGUMENT, message);
  }

  public Code code() {
    return code;
  }
}
