package dev.roundhouse.platform.rest;

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
  };

  private static final int TOO_MANY = 429;
  private static final int SERVERS_FAULT = 500;

  /** That of the routes below a path. */
  static ErrorForm of(String path) {
    return path.startsWith(TextPath.PREFIX) ? OPENAI : PROTOCOL;
  }

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
