package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ModelLookup;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/**
 * Health over HTTP: 200 for yes, 503 for no, with the JSON body that KServe's clients parse;
 * Triton's look at the code only.
 */
@RestController
public final class HealthController {
  private final Readiness readiness;
  private final ModelLookup models;

  public HealthController(Readiness readiness, ModelLookup models) {
    this.readiness = readiness;
    this.models = models;
  }

  @GetMapping("/v2/health/live")
  ResponseEntity<Map<String, Object>> live() {
    boolean alive = readiness.isAlive();
    return answer(alive, Map.of("live", alive));
  }

  @GetMapping("/v2/health/ready")
  ResponseEntity<Map<String, Object>> ready() {
    boolean ready = readiness.isReady();
    return answer(ready, Map.of("ready", ready));
  }

  @GetMapping("/v2/models/{name}/ready")
  ResponseEntity<Map<String, Object>> modelReady(@PathVariable String name) {
    return modelReady(name, "");
  }

  @GetMapping("/v2/models/{name}/versions/{version}/ready")
  ResponseEntity<Map<String, Object>> modelReady(
      @PathVariable String name, @PathVariable String version) {
    if (!models.isKnown(name, version)) {
      String text = "Request for unknown model: '" + name + "' is not found";
      return ResponseEntity.status(HttpStatus.NOT_FOUND).body(Map.of("error", text));
    }
    boolean ready = models.isReady(name, version);
    return answer(ready, Map.of("name", name, "ready", ready));
  }

  @ExceptionHandler
  ResponseEntity<Map<String, Object>> refused(WireException refusal) {
    return ResponseEntity.status(refusal.status().httpCode()).body(Map.of("error", refusal.text()));
  }

  private static ResponseEntity<Map<String, Object>> answer(boolean yes, Map<String, Object> body) {
    return ResponseEntity.status(yes ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE).body(body);
  }
}
