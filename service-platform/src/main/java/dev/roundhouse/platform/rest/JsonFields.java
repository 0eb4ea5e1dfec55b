package dev.roundhouse.platform.rest;

import dev.roundhouse.bundle.error.JsonProblem;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.status.WireException;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.StreamReadException;

/**
 * Reads the fields of a request's JSON, each as the type that it must have. A refusal is a {@link
 * WireException} that names the field.
 */
public final class JsonFields {
  private static final BigInteger MAX_UNSIGNED =
      BigInteger.ONE.shiftLeft(Long.SIZE).subtract(BigInteger.ONE);

  private final JsonParser json;
  private final DocumentMemory memory;
  private int parameters;

  /**
   * @param memory counts what is made of the fields
   */
  public JsonFields(JsonParser json, DocumentMemory memory) {
    this.json = json;
    this.memory = memory;
  }

  /** The refusal of bytes that are not JSON, or nest too deeply. */
  public static WireException malformed(JacksonException failure) {
    long at = failure.getLocation() == null ? -1 : failure.getLocation().getByteOffset();
    return WireException.invalidArgument(
        "failed to parse the request JSON buffer: %s%s"
            .formatted(JsonProblem.of(failure), at < 0 ? "" : " at byte " + at));
  }

  /** Requires that the current value is an object, and stands before its first name. */
  public void requireObject(String field) {
    require(JsonToken.START_OBJECT, field, "an object");
  }

  public void requireArray(String field) {
    require(JsonToken.START_ARRAY, field, "an array");
  }

  /** The name of the next property, standing before its value; false at the object's end. */
  public boolean nextProperty() {
    return json.nextToken() == JsonToken.PROPERTY_NAME;
  }

  /** A name or a datatype. */
  public String name(String field) {
    return text(field, MessageLimits.NAME_BYTES);
  }

  /** A request's id. */
  public String id(String field) {
    return text(field, MessageLimits.ID_BYTES);
  }

  private String text(String field, int most) {
    require(JsonToken.VALUE_STRING, field, "a string");
    int length = json.getStringLength();
    if (length > most) {
      throw exceeded(field, length + " characters", most);
    }
    memory.keep(length, 0);
    return json.getString();
  }

  public long integer(String field) {
    require(JsonToken.VALUE_NUMBER_INT, field, "a whole number");
    if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
      throw unable(field, "a whole number of 64 bits", describe());
    }
    return json.getLongValue();
  }

  public boolean flag(String field) {
    return switch (json.currentToken()) {
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      default -> throw unable(field, "true or false", describe());
    };
  }

  /** Parameters, an object of single values; none for null. */
  public Map<String, ParameterValue> parameters(String field) {
    if (json.currentToken() == JsonToken.VALUE_NULL) {
      return Map.of();
    }
    requireObject(field);
    Map<String, ParameterValue> values = new LinkedHashMap<>();
    while (nextProperty()) {
      String name = json.currentName();
      if (++parameters > MessageLimits.PARAMETERS) {
        throw exceeded("the request", parameters + " parameters", MessageLimits.PARAMETERS);
      }
      json.nextToken();
      memory.keep(name.length(), DocumentMemory.ENTRY_BYTES);
      values.put(name, parameter(field, name));
    }
    return values;
  }

  /** Counts a setting's name; the limit is that of parameters. */
  public void setting(String name) {
    memory.keep(name.length(), DocumentMemory.ENTRY_BYTES);
  }

  /** Counts one more value of a setting. */
  public void value() {
    memory.count(DocumentMemory.ENTRY_BYTES);
  }

  /** A single value: true, false, a number or a string. */
  public ParameterValue parameter(String field, String name) {
    return switch (json.currentToken()) {
      case VALUE_TRUE -> new ParameterValue.Flag(true);
      case VALUE_FALSE -> new ParameterValue.Flag(false);
      case VALUE_NUMBER_INT -> whole(field, name);
      case VALUE_NUMBER_FLOAT -> new ParameterValue.Real(json.getDoubleValue());
      case VALUE_STRING -> {
        int length = json.getStringLength();
        if (length > MessageLimits.TEXT_BYTES) {
          throw exceeded(
              "parameter '" + name + "'", length + " characters", MessageLimits.TEXT_BYTES);
        }
        memory.keep(length, 0);
        yield new ParameterValue.Text(json.getString());
      }
      default -> throw unable(field + "." + name, "true, false, a number or a string", describe());
    };
  }

  private ParameterValue whole(String field, String name) {
    if (json.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
      return new ParameterValue.Signed(json.getLongValue());
    }
    BigInteger value = json.getBigIntegerValue();
    if (value.signum() < 0 || value.compareTo(MAX_UNSIGNED) > 0) {
      throw unable(field + "." + name, "a number of 64 bits", describe());
    }
    return new ParameterValue.Unsigned(value.longValue());
  }

  public void require(JsonToken token, String field, String expected) {
    if (json.currentToken() != token) {
      throw unable(field, expected, describe());
    }
  }

  public static WireException unable(String field, String expected, String found) {
    return WireException.invalidArgument(
        "Unable to parse '%s': it must be %s and is %s".formatted(field, expected, found));
  }

  public static WireException exceeded(String what, String value, long limit) {
    return WireException.invalidArgument(
        "%s has %s, the limit is %d in one request".formatted(what, value, limit));
  }

  /** What stands there, in a word or as it is written. */
  private String describe() {
    return switch (json.currentToken()) {
      case START_OBJECT, PROPERTY_NAME, END_OBJECT -> "an object";
      case START_ARRAY, END_ARRAY -> "an array";
      case VALUE_STRING -> "a string";
      case VALUE_NULL -> "null";
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT, VALUE_TRUE, VALUE_FALSE -> json.getString();
      case VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE -> "no value";
      case null -> "missing";
    };
  }

  /** Refuses what follows the document. */
  public void requireEnd() {
    if (json.nextToken() != null) {
      throw malformed(new StreamReadException(json, "there is more after the JSON's end"));
    }
  }
}
