package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.ModelMetadataMessage;
import dev.roundhouse.worker.transport.ServerIdentity;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonGenerator;

/** What the server says of itself and of its models: shapes row-major, -1 where they vary. */
@RestController
final class MetadataController {
  private final ServerIdentity server;
  private final ModelLookup models;

  MetadataController(ServerIdentity server, ModelLookup models) {
    this.server = server;
    this.models = models;
  }

  @GetMapping("/v2")
  void server(HttpServletResponse response) throws IOException {
    reply(
        response,
        json -> {
          json.writeStringProperty("name", server.name());
          json.writeStringProperty("version", server.version());
          strings(json, "extensions", server.extensions());
        });
  }

  @GetMapping("/v2/models")
  void models(HttpServletResponse response) throws IOException {
    reply(response, json -> strings(json, "models", models.readyModels()));
  }

  @GetMapping("/v2/models/{name}")
  void model(@PathVariable String name, HttpServletResponse response) throws IOException {
    model(name, "", response);
  }

  @GetMapping("/v2/models/{name}/versions/{version}")
  void model(@PathVariable String name, @PathVariable String version, HttpServletResponse response)
      throws IOException {
    JsonReply.send(
        response,
        ModelMetadataMessage.of(
            models.ready(name, version), models.readyVersions(name), server.platform()));
  }

  private static void strings(JsonGenerator json, String property, List<String> values) {
    json.writeArrayPropertyStart(property);
    values.forEach(json::writeString);
    json.writeEndArray();
  }

  private static void reply(HttpServletResponse response, Properties properties)
      throws IOException {
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartObject();
          properties.write(json);
          json.writeEndObject();
        });
  }

  private interface Properties {
    void write(JsonGenerator json);
  }
}
