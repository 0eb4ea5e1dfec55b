package dev.roundhouse.hooks.text;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The fields of one object of {@code tokenizer.json}; what is missing or of another type is named
 * by its path.
 */
final class JsonFields {
  private final JsonNode node;
  private final String path;

  JsonFields(JsonNode node, String path) {
    this.node = node;
    this.path = path;
    if (!node.isObject()) {
      throw new IllegalArgumentException(path + " is not an object");
    }
  }

  /** Returns the object itself. */
  JsonNode node() {
    return node;
  }

  JsonNode node(String name) {
    JsonNode found = node.get(name);
    if (found == null || found.isNull()) {
      throw wrong("'" + name + "' is missing");
    }
    return found;
  }

  boolean has(String name) {
    return node.hasNonNull(name);
  }

  JsonFields object(String name) {
    return new JsonFields(node(name), path + "." + name);
  }

  @Nullable JsonFields objectOrNull(String name) {
    return has(name) ? object(name) : null;
  }

  List<JsonFields> list(String name) {
    JsonNode array = node(name);
    if (!array.isArray()) {
      throw wrong("'" + name + "' is not a list");
    }
    List<JsonFields> members = new ArrayList<>();
    for (JsonNode member : array) {
      members.add(new JsonFields(member, "%s.%s[%d]".formatted(path, name, members.size())));
    }
    return members;
  }

  String text(String name) {
    JsonNode found = node(name);
    if (!found.isString()) {
      throw wrong("'" + name + "' is not a string");
    }
    return found.stringValue();
  }

  String text(String name, String ifMissing) {
    return has(name) ? text(name) : ifMissing;
  }

  boolean flag(String name, boolean ifMissing) {
    if (!has(name)) {
      return ifMissing;
    }
    JsonNode found = node(name);
    if (!found.isBoolean()) {
      throw wrong("'" + name + "' is neither true nor false");
    }
    return found.booleanValue();
  }

  int integer(String name) {
    return integer(node(name), name);
  }

  int integer(String name, int ifMissing) {
    return has(name) ? integer(name) : ifMissing;
  }

  int integerAt(String name, int index) {
    return integer(node(name).path(index), name + "[" + index + "]");
  }

  List<Integer> integers(String name) {
    List<Integer> found = new ArrayList<>();
    for (JsonNode member : node(name)) {
      found.add(integer(member, name));
    }
    return found;
  }

  /** Reads {@code {"String": ...}} or {@code {"Regex": ...}}; a plain string is the former. */
  Pattern pattern(String name) {
    if (node(name).isString()) {
      return Pattern.compile(text(name), Pattern.LITERAL);
    }
    JsonFields either = object(name);
    if (either.has("String")) {
      return Pattern.compile(either.text("String"), Pattern.LITERAL);
    }
    try {
      return Pattern.compile(either.text("Regex"), Pattern.UNICODE_CHARACTER_CLASS);
    } catch (PatternSyntaxException e) {
      throw either.wrong(
          "'"
              + either.text("Regex")
              + "' is no regular expression of Java's: "
              + e.getDescription(),
          e);
    }
  }

  IllegalArgumentException unknown(String kind, String value) {
    return wrong("the " + kind + " '" + value + "' is not supported");
  }

  IllegalArgumentException wrong(String what) {
    return new IllegalArgumentException(path + ": " + what);
  }

  IllegalArgumentException wrong(String what, Throwable cause) {
    return new IllegalArgumentException(path + ": " + what, cause);
  }

  private int integer(JsonNode found, String name) {
    if (!found.isInt()) {
      throw wrong("'" + name + "' is not an integer of 32 bits");
    }
    return found.intValue();
  }
}
