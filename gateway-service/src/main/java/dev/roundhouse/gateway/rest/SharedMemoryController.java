package dev.roundhouse.gateway.rest;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse.RegionStatus;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.rest.ProtoJson;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Base64;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** Regions of clients' memory, made known to the workers as gRPC's calls do. */
@RestController
final class SharedMemoryController {
  private final SharedRegions regions;
  private final JsonBodies bodies;

  SharedMemoryController(SharedRegions regions, JsonBodies bodies) {
    this.regions = regions;
    this.bodies = bodies;
  }

  @GetMapping("/v2/systemsharedmemory/status")
  void regions(HttpServletResponse response) throws IOException {
    regions("", response);
  }

  @GetMapping("/v2/systemsharedmemory/region/{region}/status")
  void regions(@PathVariable String region, HttpServletResponse response) throws IOException {
    SystemSharedMemoryStatusRequest request =
        SystemSharedMemoryStatusRequest.newBuilder().setName(region).build();
    ArrayNode known = JsonNodeFactory.instance.arrayNode();
    for (RegionStatus status : regions.status(request).join().getRegionsMap().values()) {
      known.add(ProtoJson.of(status));
    }
    String text = known.toString();
    JsonReply.send(response, HttpStatus.OK.value(), json -> json.writeRawValue(text));
  }

  @PostMapping("/v2/systemsharedmemory/region/{region}/register")
  void register(
      @PathVariable String region, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    SystemSharedMemoryRegisterRequest wanted =
        bodies.read(
            request,
            body ->
                SystemSharedMemoryRegisterRequest.newBuilder()
                    .setName(region)
                    .setKey(body.text("key"))
                    .setOffset(body.number("offset", 0))
                    .setByteSize(body.number("byte_size"))
                    .build());
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
    CudaSharedMemoryRegisterRequest wanted =
        bodies.read(
            request,
            body ->
                CudaSharedMemoryRegisterRequest.newBuilder()
                    .setName(region)
                    .setRawHandle(handle(body))
                    .setDeviceId(body.number("device_id"))
                    .setByteSize(body.number("byte_size"))
                    .build());
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

  private static ByteString handle(JsonBody body) {
    try {
      return ByteString.copyFrom(Base64.getDecoder().decode(body.within("raw_handle").text("b64")));
    } catch (IllegalArgumentException e) {
      throw JsonBody.refused("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
    }
  }
}
