package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.ClientRegions.Registered;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JsonParser;

/** Regions of memory that clients share. */
@RestController
final class SharedMemoryController {
  private final Engine engine;
  private final ClientRegions regions;

  SharedMemoryController(Engine engine, ClientRegions regions) {
    this.engine = engine;
    this.regions = regions;
  }

  @GetMapping("/v2/systemsharedmemory/status")
  void status(HttpServletResponse response) throws IOException {
    send(response, regions.status(""));
  }

  @GetMapping("/v2/systemsharedmemory/region/{region}/status")
  void status(@PathVariable String region, HttpServletResponse response) throws IOException {
    send(response, regions.status(region));
  }

  @PostMapping("/v2/systemsharedmemory/region/{region}/register")
  void register(
      @PathVariable String region, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Wanted wanted = ControlBody.read(engine, request, Wanted.NOTHING, Wanted::read);
    regions.register(region, wanted.key(), wanted.offset(), wanted.byteSize());
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/systemsharedmemory/unregister")
  void unregister(HttpServletResponse response) {
    regions.unregister("");
    response.setStatus(HttpStatus.OK.value());
  }

  @PostMapping("/v2/systemsharedmemory/region/{region}/unregister")
  void unregister(@PathVariable String region, HttpServletResponse response) {
    regions.unregister(region);
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
            json.writeStringProperty("key", region.key());
            json.writeNumberProperty("offset", region.offset());
            json.writeNumberProperty("byte_size", region.byteSize());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  /** What is to be registered. */
  private record Wanted(String key, long offset, long byteSize) {
    static final Wanted NOTHING = new Wanted("", 0, 0);

    static Wanted read(JsonParser json, JsonFields fields) {
      String key = "";
      long offset = 0;
      long byteSize = 0;
      while (fields.nextProperty()) {
        String property = json.currentName();
        json.nextToken();
        switch (property) {
          case "key" -> key = fields.name(property);
          case "offset" -> offset = fields.integer(property);
          case "byte_size" -> byteSize = fields.integer(property);
          default ->
              throw WireException.invalidArgument(
                  "unrecognized property '%s'; a region has 'key', 'offset' and 'byte_size'"
                      .formatted(property));
        }
      }
      return new Wanted(key, offset, byteSize);
    }
  }
}
