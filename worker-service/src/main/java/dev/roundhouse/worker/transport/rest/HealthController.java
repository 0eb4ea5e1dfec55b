package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ModelLookup;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/**
 * Health over HTTP: 200 for yes, 503 for no, with the JSON body that KServe's clients parse;
 * Triton's look at the code only.
 */
@RestController
final class HealthController {
  private final Readiness readiness;
  private final ModelLookup models;

  HealthController(Readiness readiness, ModelLookup models) {
    this.readiness = readiness;
    this.models = models;
  }

  @GetMapping("/v2/health/live")
  void live(HttpServletResponse response) throws IOException {
    answer(response, "live", readiness.isAlive());
  }

  @GetMapping("/v2/health/ready")
  void ready(HttpServletResponse response) throws IOException {
    answer(response, "ready", readiness.isReady());
  }

  @GetMapping("/v2/models/{name}/ready")
  void modelReady(@PathVariable String name, HttpServletResponse response) throws IOException {
    modelReady(name, "", response);
  }

  @GetMapping("/v2/models/{name}/versions/{version}/ready")
  void modelReady(
      @PathVariable String name, @PathVariable String version, HttpServletResponse response)
      throws IOException {
    if (!models.isKnown(name, version)) {
      throw new WireException(
          WireStatus.NOT_FOUND, "Request for unknown model: '" + name + "' is not found");
    }
    boolean ready = models.isReady(name, version);
    JsonReply.send(
        response,
        code(ready),
        json -> {
          json.writeStartObject();
          json.writeStringProperty("name", name);
          json.writeBooleanProperty("ready", ready);
          json.writeEndObject();
        });
  }

  private static void answer(HttpServletResponse response, String what, boolean yes)
      throws IOException {
    JsonReply.send(
        response,
        code(yes),
        json -> {
          json.writeStartObject();
          json.writeBooleanProperty(what, yes);
          json.writeEndObject();
        });
  }

  private static int code(boolean yes) {
    return (yes ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE).value();
  }
}
