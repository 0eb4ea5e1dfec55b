package dev.roundhouse.gateway.rest;

import dev.roundhouse.bundle.error.JsonProblem;
import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.function.Function;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Reads the small JSON bodies of everything but inference, counted as what they are made into while
 * they are read.
 */
@Component
final class JsonBodies {
  private static final int MOST_BYTES = 1 << 20;

  private final ForwardingBudget memory;
  private final PeerMemory peers;

  JsonBodies(ForwardingBudget memory, PeerMemory peers) {
    this.memory = memory;
    this.peers = peers;
  }

  /**
   * What the request's body says; an empty one is an object without members.
   *
   * @param read takes what is wanted of it; the rest is let go
   * @throws io.grpc.StatusRuntimeException INVALID_ARGUMENT when it is too long or no JSON object
   * @throws StatusException RESOURCE_EXHAUSTED when there is no memory for it
   */
  <T> T read(HttpServletRequest request, Function<JsonBody, T> read)
      throws IOException, StatusException {
    long most = HeldShare.wholeBody(request.getContentLengthLong(), MOST_BYTES + 1L);
    try (HeldShare share =
        HeldShare.take(memory, ClientMemory.of(peers, request), Json.treeBytes(most))) {
      return read.apply(new JsonBody(parsed(request)));
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
      JsonNode body = Json.tree(bytes);
      if (body.isObject()) {
        return body;
      }
    } catch (JacksonException e) {
      throw JsonBody.refused("failed to parse the request JSON buffer: " + JsonProblem.of(e));
    }
    throw JsonBody.refused("the request's body is no JSON object");
  }
}
