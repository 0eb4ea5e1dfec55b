package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ModelControl.IndexLine;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;

/** The model repository's routes; a load or an unload is answered when it is done. */
@RestController
final class RepositoryController {
  private final Engine engine;
  private final ModelControl control;

  RepositoryController(Engine engine, ModelControl control) {
    this.engine = engine;
    this.control = control;
  }

  @PostMapping("/v2/repository/index")
  void index(HttpServletRequest request, HttpServletResponse response) throws IOException {
    index("", request, response);
  }

  @PostMapping("/v2/repository/{repository}/index")
  void index(
      @PathVariable String repository, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    List<IndexLine> lines = control.index(repository, read(request).ready());
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartArray();
          for (IndexLine line : lines) {
            json.writeStartObject();
            json.writeStringProperty("name", line.name());
            if (!line.version().isEmpty()) {
              json.writeStringProperty("version", line.version());
              json.writeStringProperty("state", line.state());
            }
            if (!line.reason().isEmpty()) {
              json.writeStringProperty("reason", line.reason());
            }
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  @PostMapping("/v2/repository/models/{name}/load")
  void load(@PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    load("", name, request, response);
  }

  @PostMapping("/v2/repository/{repository}/models/{name}/load")
  void load(
      @PathVariable String repository,
      @PathVariable String name,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    control.load(repository, name, read(request).parameters()).join();
    done(response, name, "load");
  }

  @PostMapping("/v2/repository/models/{name}/unload")
  void unload(@PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    unload("", name, request, response);
  }

  @PostMapping("/v2/repository/{repository}/models/{name}/unload")
  void unload(
      @PathVariable String repository,
      @PathVariable String name,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    control.unload(repository, name, read(request).parameters()).join();
    done(response, name, "unload");
  }

  /** What KServe's clients read; Triton's look at the code only. */
  private static void done(HttpServletResponse response, String name, String what)
      throws IOException {
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartObject();
          json.writeStringProperty("name", name);
          json.writeBooleanProperty(what, true);
          json.writeEndObject();
        });
  }

  private Wanted read(HttpServletRequest request) throws IOException {
    return ControlBody.read(engine, request, Wanted.NOTHING, Wanted::read);
  }

  /**
   * What a body says.
   *
   * @param ready true for models that are ready only
   */
  private record Wanted(boolean ready, Map<String, ParameterValue> parameters) {
    static final Wanted NOTHING = new Wanted(false, Map.of());

    static Wanted read(JsonParser json, JsonFields fields) {
      boolean ready = false;
      Map<String, ParameterValue> parameters = Map.of();
      while (fields.nextProperty()) {
        String property = json.currentName();
        json.nextToken();
        switch (property) {
          case "ready" -> ready = fields.flag(property);
          case "parameters" -> parameters = fields.parameters(property);
          default -> json.skipChildren();
        }
      }
      return new Wanted(ready, parameters);
    }
  }
}
