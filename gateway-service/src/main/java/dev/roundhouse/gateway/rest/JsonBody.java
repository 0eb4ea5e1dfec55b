package dev.roundhouse.gateway.rest;

import io.grpc.Status;
import tools.jackson.databind.JsonNode;

/** A JSON object whose members are refused by name when they are of another type than is wanted. */
record JsonBody(JsonNode node) {

  /** False where it is missing. */
  boolean flag(String name) {
    JsonNode value = node.path(name);
    if (!value.isMissingNode() && !value.isBoolean()) {
      throw refused("'%s' is %s; it must be true or false".formatted(name, value));
    }
    return value.asBoolean(false);
  }

  String text(String name) {
    JsonNode value = node.path(name);
    if (!value.isString()) {
      throw refused("'%s' is %s; it must be a text".formatted(name, shown(value)));
    }
    return value.asString();
  }

  long number(String name) {
    JsonNode value = node.path(name);
    if (!value.isIntegralNumber() || !value.canConvertToLong() || value.asLong() < 0) {
      throw refused(
          "'%s' is %s; it must be a whole number, 0 or more".formatted(name, shown(value)));
    }
    return value.asLong();
  }

  long number(String name, long whenMissing) {
    return node.has(name) ? number(name) : whenMissing;
  }

  /** The object of a name, which may be missing as its members may. */
  JsonBody within(String name) {
    return new JsonBody(node.path(name));
  }

  private static String shown(JsonNode value) {
    return value.isMissingNode() ? "missing" : value.toString();
  }

  static RuntimeException refused(String text) {
    return Status.INVALID_ARGUMENT.withDescription(text).asRuntimeException();
  }
}
