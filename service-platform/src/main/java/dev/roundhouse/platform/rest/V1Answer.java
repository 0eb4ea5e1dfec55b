package dev.roundhouse.platform.rest;

import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.springframework.http.MediaType;

/** An answer of v1: its status is in a header, and its body a message as text or in binary form. */
record V1Answer(int code, byte[] body, String type, Map<String, String> headers)
    implements ControlAnswer {
  private static final byte[] NOTHING = {};

  /** Without a body. */
  static V1Answer of(RequestStatus status) {
    return of(status, RequestStatuses.httpCode(status.getCode()));
  }

  /** As {@link #of(RequestStatus)}, with another code of HTTP. */
  static V1Answer of(RequestStatus status, int code) {
    return new V1Answer(code, NOTHING, MediaType.TEXT_PLAIN_VALUE, headers(status));
  }

  /** With a message in the form that the request asks for; without when the call has failed. */
  static V1Answer of(ControlRequest request, RequestStatus status, Message body) {
    boolean isBinary = isBinary(request.query("format"));
    if (status.getCode() != RequestStatusCode.SUCCESS) {
      return of(status);
    }
    byte[] bytes =
        isBinary
            ? body.toByteArray()
            : TextFormat.printer().printToString(body).getBytes(StandardCharsets.UTF_8);
    return new V1Answer(
        RequestStatuses.httpCode(status.getCode()),
        bytes,
        isBinary ? MediaType.APPLICATION_OCTET_STREAM_VALUE : MediaType.TEXT_PLAIN_VALUE,
        headers(status));
  }

  /**
   * @param format as a request says it; empty for text
   * @throws WireException INVALID_ARGUMENT when it is none
   */
  static boolean isBinary(String format) {
    return switch (format) {
      case "", "text" -> false;
      case "binary" -> true;
      default ->
          throw WireException.invalidArgument(
              "format is '%s'; it may be 'text' or 'binary'".formatted(format));
    };
  }

  private static Map<String, String> headers(RequestStatus status) {
    return Map.of(HeaderText.STATUS, HeaderText.of(status));
  }
}
