package dev.roundhouse.platform.rest;

import com.google.protobuf.Message;
import java.util.Collection;
import java.util.Map;
import java.util.function.Consumer;
import org.springframework.http.MediaType;
import tools.jackson.core.JsonGenerator;

/**
 * An answer that is JSON.
 *
 * @param code of HTTP
 * @param json empty for none
 */
record JsonAnswer(int code, byte[] json) implements ControlAnswer {
  private static final int OK = 200;

  /** Success without content. */
  static final JsonAnswer DONE = new JsonAnswer(OK, new byte[0]);

  @Override
  public byte[] body() {
    return json;
  }

  @Override
  public String type() {
    return MediaType.APPLICATION_JSON_VALUE;
  }

  @Override
  public Map<String, String> headers() {
    return Map.of();
  }

  /** An object, by what writes its properties. */
  static JsonAnswer object(int code, Consumer<JsonGenerator> properties) {
    return new JsonAnswer(code, JsonReply.bytes(json -> writeObject(json, properties)));
  }

  static JsonAnswer object(Consumer<JsonGenerator> properties) {
    return object(OK, properties);
  }

  private static void writeObject(JsonGenerator json, Consumer<JsonGenerator> properties) {
    json.writeStartObject();
    properties.accept(json);
    json.writeEndObject();
  }

  /** An array of objects. */
  static <T> JsonAnswer array(Collection<T> elements, ElementWriter<T> properties) {
    return new JsonAnswer(
        OK,
        JsonReply.bytes(
            json -> {
              json.writeStartArray();
              elements.forEach(
                  element -> writeObject(json, into -> properties.write(into, element)));
              json.writeEndArray();
            }));
  }

  /** A message of gRPC's, as it is. */
  static JsonAnswer message(Message message) {
    String tree = ProtoJson.of(message).toString();
    return new JsonAnswer(OK, JsonReply.bytes(json -> json.writeRawValue(tree)));
  }

  /** An array of messages of gRPC's. */
  static JsonAnswer messages(Collection<? extends Message> messages) {
    return new JsonAnswer(
        OK,
        JsonReply.bytes(
            json -> {
              json.writeStartArray();
              messages.forEach(message -> json.writeRawValue(ProtoJson.of(message).toString()));
              json.writeEndArray();
            }));
  }

  /** Writes the properties of an object. */
  interface ElementWriter<T> {
    void write(JsonGenerator json, T element);
  }
}
