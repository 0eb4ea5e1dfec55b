package dev.roundhouse.kserve.status;

/**
 * How a call failed, with its code in both protocols. HTTP codes are Triton's where it has the
 * status.
 */
public enum WireStatus {
  CANCELLED(1, 400),
  UNKNOWN(2, 400),
  INVALID_ARGUMENT(3, 400),
  DEADLINE_EXCEEDED(4, 504),
  NOT_FOUND(5, 404),
  ALREADY_EXISTS(6, 400),
  PERMISSION_DENIED(7, 403),
  RESOURCE_EXHAUSTED(8, 429),
  FAILED_PRECONDITION(9, 400),
  UNIMPLEMENTED(12, 501),
  INTERNAL(13, 500),
  UNAVAILABLE(14, 503),
  UNAUTHENTICATED(16, 401);

  private final int grpcCode;
  private final int httpCode;

  WireStatus(int grpcCode, int httpCode) {
    this.grpcCode = grpcCode;
    this.httpCode = httpCode;
  }

  public int grpcCode() {
    return grpcCode;
  }

  public int httpCode() {
    return httpCode;
  }

  /**
   * The HTTP code of any gRPC status.
   *
   * @param grpcCode its number; unknown ones are answered as {@link #UNKNOWN}
   */
  public static int httpCode(int grpcCode) {
    for (WireStatus known : values()) {
      if (known.grpcCode == grpcCode) {
        return known.httpCode;
      }
    }
    return UNKNOWN.httpCode;
  }
}
