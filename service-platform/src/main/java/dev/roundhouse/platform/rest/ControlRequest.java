package dev.roundhouse.platform.rest;

import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.Kept;
import java.util.Map;
import org.springframework.http.HttpHeaders;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;

/** A control request's path and body. For one thread. */
final class ControlRequest implements AutoCloseable {
  /** Bodies hold a name, a number, a handle. */
  static final int MAX_BODY_BYTES = 1 << 20;

  static final String REMEDY = "send less";

  private final Map<String, String> parts;
  private final String target;
  private final ReceivedRequest request;
  private final MemoryHold memory;

  /**
   * @param parts of the path, by their names in the template
   * @param target as the client wrote it
   */
  ControlRequest(Map<String, String> parts, String target, ReceivedRequest request) {
    this.parts = parts;
    this.target = target;
    this.request = request;
    memory = new MemoryHold(request.memory(), Kept.BODY);
    memory.adopt(request.heldBytes());
  }

  /** A part of the path; empty where the template has none of that name. */
  String part(String name) {
    return parts.getOrDefault(name, "");
  }

  /** A value of the query; empty where it has none of that name. */
  String query(String name) {
    return Query.value(target, name);
  }

  /** The model's name. */
  String name() {
    return part("name");
  }

  String version() {
    return part("version");
  }

  /**
   * Reads the body, an object or nothing at all.
   *
   * @param properties is told of each
   * @throws dev.roundhouse.kserve.status.WireException when it is no such object
   */
  void read(Properties properties) {
    Body body = body();
    if (body.length() == 0) {
      return;
    }
    DocumentMemory kept = new DocumentMemory(memory);
    try (JsonParser json = Json.parser(body.bytes(), 0, body.length(), kept::count)) {
      JsonFields fields = new JsonFields(json, kept);
      json.nextToken();
      fields.requireObject("request");
      while (fields.nextProperty()) {
        String name = json.currentName();
        json.nextToken();
        properties.read(name, json, fields);
      }
      fields.requireEnd();
    } catch (JacksonException e) {
      throw JsonFields.malformed(e);
    }
  }

  private Body body() {
    String encoding = request.header(HttpHeaders.CONTENT_ENCODING);
    return encoding == null
        ? new Body(request.body(), request.length())
        : new BodyReader(memory, MAX_BODY_BYTES, REMEDY, ControlRequest::atOnce)
            .uncompressed(encoding, request.body(), request.length(), () -> false);
  }

  /** It is small however well it compresses. */
  private static boolean atOnce(FairTurns.Job job) {
    while (!job.turn()) {
      Thread.yield();
    }
    return true;
  }

  /** Gives back what is counted for the body. */
  @Override
  public void close() {
    memory.close();
  }

  /** Takes the properties of a body. */
  interface Properties {
    /**
     * @param json at the property's value, and at its end afterwards
     */
    void read(String name, JsonParser json, JsonFields fields);
  }
}
