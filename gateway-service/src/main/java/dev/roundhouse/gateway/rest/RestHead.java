package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.platform.rest.Json;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Locale;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * The beginning of a request's body, as far as routing needs it. Errors in it are left to the
 * worker.
 */
final class RestHead {
  /** The most that is decompressed. */
  private static final int MOST_BYTES = 64 << 10;

  private static final String SEQUENCE_ID = "sequence_id";

  private String sequence = "";
  private int rows = 1;
  private boolean hasShape;
  private boolean writesShared;

  /** All of it has been read. */
  private boolean isWhole;

  private RestHead() {}

  /**
   * @param begin of the body
   * @param jsonLength of the JSON that it begins with; below 0 when all of it is
   */
  static RequestHead read(
      String model, String version, byte[] begin, int jsonLength, @Nullable String encoding) {
    RestHead head = head(begin, jsonLength, encoding);
    return new RequestHead(model, version, head.sequence, head.rows);
  }

  /**
   * Whether a request may run twice: not when it has an output in shared memory, nor when it
   * belongs to a sequence.
   *
   * @param body all of it
   * @return false also when it cannot be read to its end
   */
  static boolean mayRunTwice(byte[] body, int jsonLength, @Nullable String encoding) {
    RestHead head = head(body, jsonLength, encoding);
    return head.isWhole && !head.writesShared && head.sequence.isEmpty();
  }

  private static RestHead head(byte[] begin, int jsonLength, @Nullable String encoding) {
    RestHead head = new RestHead();
    try {
      byte[] plain = uncompressed(begin, encoding);
      int length = jsonLength < 0 ? plain.length : Math.min(jsonLength, plain.length);
      try (JsonParser json = Json.parser(plain, 0, length)) {
        head.read(json);
      }
    } catch (IOException | JacksonException e) {
      // what was read until then counts
    }
    return head;
  }

  /** As far as it is looked at. */
  static byte[] uncompressed(byte[] begin, @Nullable String encoding) throws IOException {
    String coding = encoding == null ? "" : encoding.strip().toLowerCase(Locale.ROOT);
    InputStream compressed = new ByteArrayInputStream(begin);
    return switch (coding) {
      case "gzip", "x-gzip" -> read(new GZIPInputStream(compressed));
      case "deflate" -> read(new InflaterInputStream(compressed));
      default -> begin;
    };
  }

  /** As much as there is, and as is looked at. */
  private static byte[] read(InputStream in) {
    byte[] plain = new byte[MOST_BYTES];
    int length = 0;
    try (in) {
      int count = in.read(plain);
      while (count > 0) {
        length += count;
        count = in.read(plain, length, plain.length - length);
      }
    } catch (IOException e) {
      // there is no more of it here
    }
    return Arrays.copyOf(plain, length);
  }

  private void read(JsonParser json) {
    if (json.nextToken() != JsonToken.START_OBJECT) {
      return;
    }
    while (json.nextToken() == JsonToken.PROPERTY_NAME) {
      String name = json.currentName();
      JsonToken value = json.nextToken();
      if (name.equals("parameters") && value == JsonToken.START_OBJECT) {
        readParameters(json);
      } else if (name.equals(SEQUENCE_ID) && value.isScalarValue()) { // as generate has it
        readSequence(json);
      } else if (name.equals("inputs") && value == JsonToken.START_ARRAY && !hasShape) {
        readInputs(json);
      } else if (name.equals("outputs") && value == JsonToken.START_ARRAY) {
        readOutputs(json);
      } else {
        json.skipChildren();
      }
    }
    isWhole = json.currentToken() == JsonToken.END_OBJECT;
  }

  private void readOutputs(JsonParser json) {
    while (json.nextToken() == JsonToken.START_OBJECT) {
      while (json.nextToken() == JsonToken.PROPERTY_NAME) {
        boolean parameters = json.currentName().equals("parameters");
        if (json.nextToken() == JsonToken.START_OBJECT && parameters) {
          while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            writesShared |= json.currentName().equals(RequestHead.REGION);
            json.nextToken();
            json.skipChildren();
          }
        } else {
          json.skipChildren();
        }
      }
    }
  }

  private void readParameters(JsonParser json) {
    while (json.nextToken() == JsonToken.PROPERTY_NAME) {
      boolean wanted = json.currentName().equals(SEQUENCE_ID);
      JsonToken value = json.nextToken();
      if (wanted && value.isScalarValue()) {
        readSequence(json);
      } else {
        json.skipChildren();
      }
    }
  }

  private void readSequence(JsonParser json) {
    String text = json.getString();
    sequence = text.equals("0") ? "" : text;
  }

  private void readInputs(JsonParser json) {
    while (json.nextToken() == JsonToken.START_OBJECT) {
      while (json.nextToken() == JsonToken.PROPERTY_NAME) {
        boolean shape = json.currentName().equals("shape");
        if (json.nextToken() == JsonToken.START_ARRAY && shape && !hasShape) {
          hasShape = true;
          if (json.nextToken() == JsonToken.VALUE_NUMBER_INT) {
            rows = (int) Math.clamp(json.getLongValue(), 1, Integer.MAX_VALUE);
          }
          while (json.currentToken() != JsonToken.END_ARRAY) {
            json.nextToken();
          }
        } else {
          json.skipChildren();
        }
      }
    }
  }
}
