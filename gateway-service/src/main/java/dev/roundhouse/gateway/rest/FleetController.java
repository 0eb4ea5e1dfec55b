package dev.roundhouse.gateway.rest;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.grpc.HeldMemory;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse.RegionStatus;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.rest.ProtoJson;
import io.grpc.Status;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Base64;
import java.util.Collection;
import java.util.TreeSet;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** What all workers together answer, as gRPC's calls do. */
@RestController
final class FleetController {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final int MOST_BODY_BYTES = 1 << 20;

  private final GatewayReadiness readiness;
  private final Workers workers;
  private final FleetCalls calls;
  private final SharedRegions regions;
  private final HeldMemory memory;

  FleetController(
      GatewayReadiness readiness,
      Workers workers,
      FleetCalls calls,
      SharedRegions regions,
      HeldMemory memory) {
    this.readiness = readiness;
    this.workers = workers;
    this.calls = calls;
    this.regions = regions;
    this.memory = memory;
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
            .setReady(flag(body(request), "ready"))
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

  @GetMapping("/v2/systemsharedmemory/status")
  void regions(HttpServletResponse response) throws IOException {
    regions("", response);
  }

  @GetMapping("/v2/systemsharedmemory/region/{region}/status")
  void regions(@PathVariable String region, HttpServletResponse response) throws IOException {
    SystemSharedMemoryStatusRequest request =
        SystemSharedMemoryStatusRequest.newBuilder().setName(region).build();
    ArrayNode known = JSON.arrayNode();
    for (RegionStatus status : regions.status(request).join().getRegionsMap().values()) {
      known.add(ProtoJson.of(status));
    }
    send(response, HttpStatus.OK, known);
  }

  @PostMapping("/v2/systemsharedmemory/region/{region}/register")
  void register(
      @PathVariable String region, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    JsonNode body = body(request);
    SystemSharedMemoryRegisterRequest wanted =
        SystemSharedMemoryRegisterRequest.newBuilder()
            .setName(region)
            .setKey(text(body, "key"))
            .setOffset(number(body, "offset"))
            .setByteSize(number(body, "byte_size"))
            .build();
    var unused = regions.register(wanted).join();
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/systemsharedmemory/unregister")
  void unregister(HttpServletResponse response) {
    unregister("", response);
  }

  @PostMapping("/v2/systemsharedmemory/region/{region}/unregister")
  void unregister(@PathVariable String region, HttpServletResponse response) {
    var unused =
        regions
            .unregister(SystemSharedMemoryUnregisterRequest.newBuilder().setName(region).build())
            .join();
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/cudasharedmemory/region/{region}/register")
  void registerCuda(
      @PathVariable String region, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    JsonNode body = body(request);
    CudaSharedMemoryRegisterRequest wanted =
        CudaSharedMemoryRegisterRequest.newBuilder()
            .setName(region)
            .setRawHandle(handle(body.path("raw_handle")))
            .setDeviceId(number(body, "device_id"))
            .setByteSize(number(body, "byte_size"))
            .build();
    var unused = regions.register(wanted).join();
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/cudasharedmemory/unregister")
  void unregisterCuda(HttpServletResponse response) {
    unregisterCuda("", response);
  }

  @PostMapping("/v2/cudasharedmemory/region/{region}/unregister")
  void unregisterCuda(@PathVariable String region, HttpServletResponse response) {
    var unused =
        regions
            .unregister(CudaSharedMemoryUnregisterRequest.newBuilder().setName(region).build())
            .join();
    response.setStatus(HttpStatus.OK.value());
  }

  private static ByteString handle(JsonNode handle) {
    try {
      return ByteString.copyFrom(Base64.getDecoder().decode(text(handle, "b64")));
    } catch (IllegalArgumentException e) {
      throw refused("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
    }
  }

  private JsonNode body(HttpServletRequest request) throws IOException, StatusException {
    long most = HeldShare.wholeBody(request.getContentLengthLong(), MOST_BODY_BYTES + 1L);
    HeldShare share = HeldShare.take(memory, most);
    try {
      return parsed(request);
    } finally {
      share.close();
    }
  }

  private static JsonNode parsed(HttpServletRequest request) throws IOException {
    byte[] bytes = request.getInputStream().readNBytes(MOST_BODY_BYTES + 1);
    if (bytes.length > MOST_BODY_BYTES) {
      throw refused("the request's body has more than %d bytes".formatted(MOST_BODY_BYTES));
    }
    if (bytes.length == 0) {
      return JSON.objectNode();
    }
    try {
      JsonNode body = JsonMapper.shared().readTree(bytes);
      if (body.isObject()) {
        return body;
      }
    } catch (JacksonException e) {
      throw refused("failed to parse the request JSON buffer: " + e.getOriginalMessage());
    }
    throw refused("the request's body is no JSON object");
  }

  private static boolean flag(JsonNode body, String name) {
    JsonNode value = body.path(name);
    if (!value.isMissingNode() && !value.isBoolean()) {
      throw refused("'%s' is %s; it must be true or false".formatted(name, value));
    }
    return value.asBoolean(false);
  }

  private static String text(JsonNode body, String name) {
    JsonNode value = body.path(name);
    if (!value.isString()) {
      throw refused("'%s' is %s; it must be a text".formatted(name, shown(value)));
    }
    return value.asString();
  }

  private static long number(JsonNode body, String name) {
    JsonNode value = body.path(name);
    if (value.isMissingNode() && name.equals("offset")) {
      return 0;
    }
    if (!value.isIntegralNumber() || !value.canConvertToLong() || value.asLong() < 0) {
      throw refused(
          "'%s' is %s; it must be a whole number, 0 or more".formatted(name, shown(value)));
    }
    return value.asLong();
  }

  private static String shown(JsonNode value) {
    return value.isMissingNode() ? "missing" : value.toString();
  }

  private static RuntimeException refused(String text) {
    return Status.INVALID_ARGUMENT.withDescription(text).asRuntimeException();
  }

  private static void send(HttpServletResponse response, HttpStatus status, JsonNode body)
      throws IOException {
    String text = body.toString();
    JsonReply.send(response, status.value(), json -> json.writeRawValue(text));
  }
}
