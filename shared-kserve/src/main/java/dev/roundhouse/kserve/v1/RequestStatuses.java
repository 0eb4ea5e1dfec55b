package dev.roundhouse.kserve.v1;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;

/** The statuses of v1, which has fewer, beside those of the other protocols. */
public final class RequestStatuses {
  private static final int OK = 200;

  private RequestStatuses() {}

  /** The nearest that v1 has. Clients repeat what is unavailable, and nothing else. */
  public static RequestStatusCode code(WireStatus status) {
    return switch (status) {
      case INVALID_ARGUMENT -> RequestStatusCode.INVALID_ARG;
      case NOT_FOUND -> RequestStatusCode.NOT_FOUND;
      case ALREADY_EXISTS -> RequestStatusCode.ALREADY_EXISTS;
      case UNIMPLEMENTED -> RequestStatusCode.UNSUPPORTED;
      case INTERNAL -> RequestStatusCode.INTERNAL;
      case UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, FAILED_PRECONDITION ->
          RequestStatusCode.UNAVAILABLE;
      case CANCELLED, UNKNOWN, PERMISSION_DENIED, UNAUTHENTICATED -> RequestStatusCode.UNKNOWN;
    };
  }

  /**
   * As {@link #code(WireStatus)}.
   *
   * @param grpcCode the number of a status that is not OK; of unknown ones, UNKNOWN
   */
  public static RequestStatusCode code(int grpcCode) {
    for (WireStatus known : WireStatus.values()) {
      if (known.grpcCode() == grpcCode) {
        return code(known);
      }
    }
    return RequestStatusCode.UNKNOWN;
  }

  /** What HTTP answers with beside it. */
  public static int httpCode(RequestStatusCode code) {
    return switch (code) {
      case SUCCESS -> OK;
      case NOT_FOUND -> WireStatus.NOT_FOUND.httpCode();
      case UNAVAILABLE -> WireStatus.UNAVAILABLE.httpCode();
      case UNSUPPORTED -> WireStatus.UNIMPLEMENTED.httpCode();
      case INTERNAL -> WireStatus.INTERNAL.httpCode();
      case INVALID, UNKNOWN, INVALID_ARG, ALREADY_EXISTS, UNRECOGNIZED ->
          WireStatus.INVALID_ARGUMENT.httpCode();
    };
  }
}
