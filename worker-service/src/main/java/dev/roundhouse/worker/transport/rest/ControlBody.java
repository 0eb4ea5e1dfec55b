package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.rest.Json;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.function.BiFunction;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;

/** The body of a request that steers the server: an object of a few properties, or nothing. */
final class ControlBody {
  /** They hold a name, a number, a handle. */
  private static final int MAX_BYTES = 1 << 20;

  private ControlBody() {}

  /**
   * Reads it within the engine's memory for requests.
   *
   * @param nothing what an empty body says
   * @param read is given the parser before the first property of the object, and leaves it at the
   *     object's end
   */
  static <T> T read(
      Engine engine,
      HttpServletRequest request,
      T nothing,
      BiFunction<JsonParser, JsonFields, T> read)
      throws IOException {
    try (MemoryHold memory = new MemoryHold(engine)) {
      Body body =
          new BodyReader(memory, MAX_BYTES, "send less", BodyReader.Turns.AT_ONCE).read(request);
      if (body.length() == 0) {
        return nothing;
      }
      DocumentMemory kept = new DocumentMemory(memory);
      try (JsonParser json = Json.parser(body.bytes(), 0, body.length(), kept::count)) {
        JsonFields fields = new JsonFields(json, kept);
        json.nextToken();
        fields.requireObject("request");
        T said = read.apply(json, fields);
        fields.requireEnd();
        return said;
      } catch (JacksonException e) {
        throw JsonFields.malformed(e);
      }
    }
  }
}
