package dev.roundhouse.platform.rest;

import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.function.Consumer;
import org.springframework.http.MediaType;
import tools.jackson.core.JsonGenerator;

/** Answers that are a little JSON, made as a whole before any of it is sent. */
public final class JsonReply {
  private JsonReply() {}

  /** As it is sent. */
  static byte[] bytes(Consumer<JsonGenerator> body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = Json.generator(bytes)) {
      body.accept(json);
    }
    return bytes.toByteArray();
  }

  public static void error(HttpServletResponse response, int code, String text) throws IOException {
    byte[] bytes = error(text);
    response.setStatus(code);
    response.setContentType(MediaType.APPLICATION_JSON_VALUE);
    response.setContentLength(bytes.length);
    response.getOutputStream().write(bytes);
  }

  /** What {@link #error} sends. */
  public static byte[] error(String text) {
    return bytes(json -> writeError(json, text));
  }

  private static void writeError(JsonGenerator json, String text) {
    json.writeStartObject();
    json.writeStringProperty("error", text);
    json.writeEndObject();
  }
}
