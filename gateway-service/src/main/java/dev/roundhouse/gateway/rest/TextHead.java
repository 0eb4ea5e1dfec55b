package dev.roundhouse.gateway.rest;

import dev.roundhouse.platform.rest.Json;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * What routing needs of a request of texts. Errors in it are left to the worker.
 *
 * @param model null when what was read does not name it
 * @param rows texts that stand before the model's name; 1 at least
 */
record TextHead(@Nullable String model, int rows) {

  /**
   * Reads until the model's name.
   *
   * @param texts the property that has the texts
   */
  static TextHead read(byte[] begin, @Nullable String encoding, String texts) {
    int rows = 1;
    try {
      byte[] plain = RestHead.uncompressed(begin, encoding);
      try (JsonParser json = Json.parser(plain, 0, plain.length)) {
        boolean isObject = json.nextToken() == JsonToken.START_OBJECT;
        while (isObject && json.nextToken() == JsonToken.PROPERTY_NAME) {
          String name = json.currentName();
          JsonToken value = json.nextToken();
          if (name.equals("model") && value == JsonToken.VALUE_STRING) {
            return new TextHead(json.getString(), rows);
          }
          if (name.equals(texts) && value == JsonToken.START_ARRAY) {
            rows = count(json);
          } else {
            json.skipChildren();
          }
        }
      }
    } catch (IOException | JacksonException e) {
      // there is no model's name in what can be read
    }
    return new TextHead(null, rows);
  }

  private static int count(JsonParser json) {
    int rows = 0;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      json.skipChildren();
      rows++;
    }
    return Math.max(1, rows);
  }
}
