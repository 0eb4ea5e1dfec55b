package dev.roundhouse.gateway.rest;

import dev.roundhouse.grpc.HeldMemory;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;

/** Reads the small JSON bodies of everything but inference, counted while they are read. */
@Component
final class JsonBodies {
  private static final int MOST_BYTES = 1 << 20;

  private final HeldMemory memory;

  JsonBodies(HeldMemory memory) {
    this.memory = memory;
  }

  /**
   * The request's body; an empty one is an object without members.
   *
   * @throws io.grpc.StatusRuntimeException INVALID_ARGUMENT when it is too long or no JSON object
   * @throws StatusException RESOURCE_EXHAUSTED when there is no memory for it
   */
  JsonBody read(HttpServletRequest request) throws IOException, StatusException {
    long most = HeldShare.wholeBody(request.getContentLengthLong(), MOST_BYTES + 1L);
    HeldShare share = HeldShare.take(memory, most);
    try {
      return new JsonBody(parsed(request));
    } finally {
      share.close();
    }
  }

  private static JsonNode parsed(HttpServletRequest request) throws IOException {
    byte[] bytes = request.getInputStream().readNBytes(MOST_BYTES + 1);
    if (bytes.length > MOST_BYTES) {
      throw JsonBody.refused("the request's body has more than %d bytes".formatted(MOST_BYTES));
    }
    if (bytes.length == 0) {
      return JsonNodeFactory.instance.objectNode();
    }
    try {
      JsonNode body = JsonMapper.shared().readTree(bytes);
      if (body.isObject()) {
        return body;
      }
    } catch (JacksonException e) {
      throw JsonBody.refused("failed to parse the request JSON buffer: " + e.getOriginalMessage());
    }
    throw JsonBody.refused("the request's body is no JSON object");
  }
}
