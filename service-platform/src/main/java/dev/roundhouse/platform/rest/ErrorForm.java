package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.transport.http1.Reply;

/** How an error's body is written. */
public enum ErrorForm {
  /** {@code {"error": "text"}}. */
  PROTOCOL {
    @Override
    byte[] json(int code, String text) {
      return JsonReply.error(text);
    }
  },
  /** OpenAI's, which its clients and those of others read. */
  OPENAI {
    @Override
    byte[] json(int code, String text) {
      return JsonReply.bytes(
          json -> {
            json.writeStartObject();
            json.writeObjectPropertyStart("error");
            json.writeStringProperty("message", text);
            json.writeStringProperty("type", type(code));
            json.writeNullProperty("param");
            json.writeNullProperty("code");
            json.writeEndObject();
            json.writeEndObject();
          });
    }
  },
  /** As {@link #PROTOCOL}, and v1's status in a header, which is all that its clients read. */
  V1 {
    @Override
    void addHeaders(Reply reply, int grpcCode, String text) {
      RequestStatus status =
          RequestStatus.newBuilder().setCode(RequestStatuses.code(grpcCode)).setMsg(text).build();
      reply.header(HeaderText.STATUS, HeaderText.of(status));
    }

    @Override
    byte[] json(int code, String text) {
      return JsonReply.error(text);
    }
  };

  private static final String V1_PREFIX = "/api/";
  private static final int TOO_MANY = 429;
  private static final int SERVERS_FAULT = 500;

  /** That of the routes below a path. */
  static ErrorForm of(String path) {
    if (path.startsWith(V1_PREFIX)) {
      return V1;
    }
    return path.startsWith(TextPath.PREFIX) ? OPENAI : PROTOCOL;
  }

  /**
   * Headers that the form has besides; before the body.
   *
   * @param grpcCode of the status
   */
  void addHeaders(Reply reply, int grpcCode, String text) {}

  /**
   * @param code of HTTP
   */
  abstract byte[] json(int code, String text);

  private static String type(int code) {
    if (code >= SERVERS_FAULT) {
      return "server_error";
    }
    return code == TOO_MANY ? "rate_limit_error" : "invalid_request_error";
  }
}
