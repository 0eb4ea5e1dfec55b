package dev.roundhouse.bundle.manifest;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Typed reads from one YAML mapping; a value of the wrong type is a problem with its key path. */
final class Fields {
  private final ObjectNode node;
  private final String path;
  private final Problems problems;

  Fields(ObjectNode node, String path, Problems problems) {
    this.node = node;
    this.path = path;
    this.problems = problems;
  }

  /** A value as messages show it. */
  static String shown(JsonNode value) {
    String text = value.toString();
    return text.length() <= 60 ? text : text.substring(0, 57) + "...";
  }

  String path(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  boolean has(String key) {
    return node.has(key);
  }

  Set<String> keys() {
    return node.properties().stream()
        .map(Map.Entry::getKey)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  void problem(String key, String reason) {
    problems.add(path(key), reason);
  }

  /** Makes every other key a problem. */
  void allowOnly(String... keys) {
    for (String key : keys()) {
      if (!List.of(keys).contains(key)) {
        problem(
            key,
            "is not a key of this format; the nearest valid key is '"
                + NearestKey.of(key, keys)
                + "'");
      }
    }
  }

  void require(String... keys) {
    for (String key : keys) {
      if (!has(key)) {
        problem(key, "is missing");
      }
    }
  }

  Optional<String> text(String key) {
    JsonNode value = node.get(key);
    if (value == null) {
      return Optional.empty();
    }
    if (value.isString()) {
      return Optional.of(value.stringValue());
    }
    problem(key, "is " + shown(value) + ", not a string");
    return Optional.empty();
  }

  OptionalLong integer(String key, long min, long max) {
    return has(key) ? integer(node.get(key), path(key), min, max) : OptionalLong.empty();
  }

  OptionalLong integer(@Nullable JsonNode value, String at, long min, long max) {
    if (value == null || !value.isIntegralNumber()) {
      problems.add(at, "is " + (value == null ? "missing" : shown(value)) + ", not a whole number");
    } else if (!value.canConvertToLong() || value.longValue() < min || value.longValue() > max) {
      problems.add(at, "is " + shown(value) + ", outside " + min + " to " + max);
    } else {
      return OptionalLong.of(value.longValue());
    }
    return OptionalLong.empty();
  }

  Optional<Double> number(String key) {
    JsonNode value = node.get(key);
    if (value == null) {
      return Optional.empty();
    }
    if (value.isNumber() && Double.isFinite(value.doubleValue())) {
      return Optional.of(value.doubleValue());
    }
    problem(key, "is " + shown(value) + ", not a number");
    return Optional.empty();
  }

  boolean flag(String key, boolean absent) {
    JsonNode value = node.get(key);
    if (value == null || value.isBoolean()) {
      return value == null ? absent : value.booleanValue();
    }
    problem(key, "is " + shown(value) + ", not true or false");
    return absent;
  }

  Optional<Fields> object(String key) {
    JsonNode value = node.get(key);
    return value == null ? Optional.empty() : object(value, path(key));
  }

  List<JsonNode> list(String key) {
    JsonNode value = node.get(key);
    if (value == null) {
      return List.of();
    }
    if (!value.isArray()) {
      problem(key, "is " + shown(value) + ", not a list");
      return List.of();
    }
    List<JsonNode> items = new ArrayList<>();
    value.forEach(items::add);
    return items;
  }

  List<Fields> objects(String key) {
    List<Fields> objects = new ArrayList<>();
    List<JsonNode> items = list(key);
    for (int i = 0; i < items.size(); i++) {
      object(items.get(i), path(key) + "[" + i + "]").ifPresent(objects::add);
    }
    return objects;
  }

  List<String> texts(String key) {
    List<String> texts = new ArrayList<>();
    List<JsonNode> items = list(key);
    for (int i = 0; i < items.size(); i++) {
      if (items.get(i).isString()) {
        texts.add(items.get(i).stringValue());
      } else {
        problems.add(path(key) + "[" + i + "]", "is " + shown(items.get(i)) + ", not a string");
      }
    }
    return texts;
  }

  /** A value as text whatever its type: free-form sections. */
  String freeText(String key) {
    JsonNode value = node.get(key);
    return value == null ? "" : value.isValueNode() ? value.asString("") : value.toString();
  }

  boolean isScalar(String key) {
    JsonNode value = node.get(key);
    return value != null && value.isValueNode() && !value.isNull();
  }

  private Optional<Fields> object(JsonNode value, String at) {
    if (value instanceof ObjectNode object) {
      return Optional.of(new Fields(object, at, problems));
    }
    problems.add(at, "is " + shown(value) + ", not a mapping");
    return Optional.empty();
  }
}
