package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaRegions;
import dev.roundhouse.worker.transport.shm.CudaRegions.Registered;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;

/** Regions of memory that clients share on the worker's GPU. */
@RestController
final class CudaMemoryController {
  private final Engine engine;
  private final CudaRegions regions;

  CudaMemoryController(Engine engine, ClientRegions regions) {
    this.engine = engine;
    this.regions = regions.cuda();
  }

  @GetMapping("/v2/cudasharedmemory/status")
  void status(HttpServletResponse response) throws IOException {
    send(response, regions.status(""));
  }

  @GetMapping("/v2/cudasharedmemory/region/{region}/status")
  void status(@PathVariable String region, HttpServletResponse response) throws IOException {
    send(response, regions.status(region));
  }

  @PostMapping("/v2/cudasharedmemory/region/{region}/register")
  void register(
      @PathVariable String region, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Wanted wanted = ControlBody.read(engine, request, Wanted.NOTHING, Wanted::read);
    try {
      regions.register(region, wanted.handle(), wanted.device(), wanted.byteSize()).join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof WireException refusal ? refusal : e;
    }
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/cudasharedmemory/unregister")
  void unregister(HttpServletResponse response) {
    regions.unregister("").join();
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/cudasharedmemory/region/{region}/unregister")
  void unregister(@PathVariable String region, HttpServletResponse response) {
    regions.unregister(region).join();
    response.setStatus(HttpStatus.OK.value());
  }

  private static void send(HttpServletResponse response, List<Registered> registered)
      throws IOException {
    JsonReply.send(
        response,
        HttpStatus.OK.value(),
        json -> {
          json.writeStartArray();
          for (Registered region : registered) {
            json.writeStartObject();
            json.writeStringProperty("name", region.name());
            json.writeNumberProperty("device_id", region.device());
            json.writeNumberProperty("byte_size", region.byteSize());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  /** What is to be registered. */
  private record Wanted(byte[] handle, long device, long byteSize) {
    static final Wanted NOTHING = new Wanted(new byte[0], 0, 0);

    static Wanted read(JsonParser json, JsonFields fields) {
      byte[] handle = NOTHING.handle;
      long device = 0;
      long byteSize = 0;
      while (fields.nextProperty()) {
        String property = json.currentName();
        json.nextToken();
        switch (property) {
          case "raw_handle" -> handle = handle(json, fields);
          case "device_id" -> device = fields.integer(property);
          case "byte_size" -> byteSize = fields.integer(property);
          default ->
              throw WireException.invalidArgument(
                  "unrecognized property '%s'; a region of CUDA's memory has 'raw_handle', 'device_id' and 'byte_size'"
                      .formatted(property));
        }
      }
      return new Wanted(handle, device, byteSize);
    }

    private static byte[] handle(JsonParser json, JsonFields fields) {
      fields.requireObject("raw_handle");
      byte[] handle = NOTHING.handle;
      while (fields.nextProperty()) {
        String property = json.currentName();
        json.nextToken();
        if (!property.equals("b64")) {
          throw WireException.invalidArgument(
              "unrecognized property '%s' of 'raw_handle'; it has 'b64'".formatted(property));
        }
        handle = decoded(fields.name("raw_handle.b64"));
      }
      return handle;
    }

    private static byte[] decoded(String text) {
      try {
        return Base64.getDecoder().decode(text);
      } catch (IllegalArgumentException e) {
        throw WireException.invalidArgument(
            "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t: " + e.getMessage());
      }
    }
  }
}
