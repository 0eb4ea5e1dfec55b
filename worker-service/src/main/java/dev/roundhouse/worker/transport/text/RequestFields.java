package dev.roundhouse.worker.transport.text;

import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.DocumentMemory;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.MemoryHold;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** What requests of all text routes have, and how they are read. For one thread. */
abstract class RequestFields implements TextRequest {
  private static final String TIMEOUT = "timeout";

  /** Of {@code parameters}: what a request may say of when it runs. */
  private static final Set<String> SCHEDULING = Set.of(TIMEOUT, "priority");

  /** What is left of a request's time, in nanoseconds, as servers and clients of ours tell it. */
  private static final String BUDGET_NANOS = "reactant_timeout_ns";

  private final String route;
  private final String known;
  private String model = "";
  private Map<String, ParameterValue> parameters = Map.of();

  /**
   * @param known the properties that it takes, for texts
   */
  RequestFields(String route, String known) {
    this.route = route;
    this.known = known;
  }

  /**
   * Reads a body.
   *
   * @param memory what is made of it
   * @throws WireException when it is not a request
   */
  final TextRequest read(Body body, MemoryHold memory) {
    DocumentMemory kept = new DocumentMemory(memory);
    try (JsonParser json = Json.parser(body.bytes(), 0, body.length(), kept::count)) {
      JsonFields fields = new JsonFields(json, kept);
      json.nextToken();
      fields.requireObject("request");
      while (fields.nextProperty()) {
        property(json, fields, kept);
      }
      fields.requireEnd();
    } catch (JacksonException e) {
      throw JsonFields.malformed(e);
    }
    kept.settle();
    if (model.isEmpty()) {
      throw WireException.invalidArgument("'model' is missing; name one that /v1/models lists");
    }
    requireWhole();
    return this;
  }

  private void property(JsonParser json, JsonFields fields, DocumentMemory kept) {
    String name = json.currentName();
    JsonToken value = json.nextToken();
    switch (name) {
      case "model" -> model = fields.name(name);
      case "parameters" -> {
        parameters = fields.parameters(name);
        for (String parameter : parameters.keySet()) {
          if (!SCHEDULING.contains(parameter)) {
            throw WireException.invalidArgument(
                "'parameters' has '%s'; %s takes timeout and priority there"
                    .formatted(parameter, route));
          }
        }
        parameters = ofEachPart(parameters);
      }
      default -> {
        if (!property(name, value, json, fields, kept)) {
          throw WireException.invalidArgument(
              "'%s' is not taken; %s takes %s".formatted(name, route, known));
        }
      }
    }
  }

  /**
   * Each part of the request has what is left of the time for the whole; its {@code timeout} would
   * begin with the part. One that is no time stays, and is refused with the first part.
   */
  private static Map<String, ParameterValue> ofEachPart(Map<String, ParameterValue> given) {
    if (!(given.get(TIMEOUT) instanceof ParameterValue.Signed(long micros)) || micros < 0) {
      return given;
    }
    Map<String, ParameterValue> parts = new LinkedHashMap<>(given);
    parts.remove(TIMEOUT);
    parts.put(
        BUDGET_NANOS, new ParameterValue.Signed(TimeUnit.MICROSECONDS.toNanos(micros))); // 0: none
    return parts;
  }

  /**
   * Reads a property of the route's own.
   *
   * @param value of which {@code json} stands at the begin, and at the end afterwards
   * @return false when the route has none of that name
   */
  abstract boolean property(
      String name, JsonToken value, JsonParser json, JsonFields fields, DocumentMemory kept);

  /** Refuses a request that something is missing in. */
  abstract void requireWhole();

  @Override
  public final String model() {
    return model;
  }

  @Override
  public final Map<String, ParameterValue> parameters() {
    return parameters;
  }
}
