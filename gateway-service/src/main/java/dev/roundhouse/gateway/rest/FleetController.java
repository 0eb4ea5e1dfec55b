package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.rest.ProtoJson;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collection;
import java.util.TreeSet;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** What all workers together answer, as gRPC's calls do. */
@RestController
final class FleetController {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private final GatewayReadiness readiness;
  private final Workers workers;
  private final FleetCalls calls;
  private final JsonBodies bodies;

  FleetController(
      GatewayReadiness readiness, Workers workers, FleetCalls calls, JsonBodies bodies) {
    this.readiness = readiness;
    this.workers = workers;
    this.calls = calls;
    this.bodies = bodies;
  }

  @GetMapping("/v2/health/live")
  void live(HttpServletResponse response) throws IOException {
    health(response, "live", readiness.isAlive());
  }

  @GetMapping("/v2/health/ready")
  void ready(HttpServletResponse response) throws IOException {
    health(response, "ready", readiness.isReady());
  }

  private static void health(HttpServletResponse response, String what, boolean yes)
      throws IOException {
    send(
        response,
        yes ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE,
        JSON.objectNode().put(what, yes));
  }

  @GetMapping("/v2")
  void server(HttpServletResponse response) throws IOException {
    ObjectNode server =
        ProtoJson.of(calls.serverMetadata(ServerMetadataRequest.getDefaultInstance()).join());
    send(response, HttpStatus.OK, server);
  }

  @GetMapping("/v2/models")
  void models(HttpServletResponse response) throws IOException {
    Collection<String> ready = new TreeSet<>();
    workers
        .all()
        .forEach(
            look -> {
              if (look.ready()) {
                look.models().forEach((name, isReady) -> add(ready, name, isReady));
              }
            });
    ObjectNode models = JSON.objectNode();
    ready.forEach(models.putArray("models")::add);
    send(response, HttpStatus.OK, models);
  }

  private static void add(Collection<String> names, String name, boolean wanted) {
    if (wanted) {
      names.add(name);
    }
  }

  @GetMapping("/v2/models/stats")
  void stats(HttpServletResponse response) throws IOException {
    stats("", "", response);
  }

  @GetMapping("/v2/models/{name}/stats")
  void stats(@PathVariable String name, HttpServletResponse response) throws IOException {
    stats(name, "", response);
  }

  @GetMapping("/v2/models/{name}/versions/{version}/stats")
  void stats(@PathVariable String name, @PathVariable String version, HttpServletResponse response)
      throws IOException {
    ModelStatisticsRequest request =
        ModelStatisticsRequest.newBuilder().setName(name).setVersion(version).build();
    JsonReply.send(response, calls.modelStatistics(request).join());
  }

  @PostMapping("/v2/repository/index")
  void index(HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    index("", request, response);
  }

  @PostMapping("/v2/repository/{repository}/index")
  void index(
      @PathVariable String repository, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    RepositoryIndexRequest wanted =
        RepositoryIndexRequest.newBuilder()
            .setRepositoryName(repository)
            .setReady(bodies.read(request, body -> body.flag("ready")))
            .build();
    ArrayNode lines = JSON.arrayNode();
    for (ModelIndex line : calls.repositoryIndex(wanted).join().getModelsList()) {
      ObjectNode node = lines.addObject().put("name", line.getName());
      if (!line.getVersion().isEmpty()) {
        node.put("version", line.getVersion()).put("state", line.getState());
      }
      if (!line.getReason().isEmpty()) {
        node.put("reason", line.getReason());
      }
    }
    send(response, HttpStatus.OK, lines);
  }

  private static void send(HttpServletResponse response, HttpStatus status, JsonNode body)
      throws IOException {
    String text = body.toString();
    JsonReply.send(response, status.value(), json -> json.writeRawValue(text));
  }
}
