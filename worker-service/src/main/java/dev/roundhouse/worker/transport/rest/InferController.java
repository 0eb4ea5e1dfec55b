package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.kserve.codec.WireRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.logging.RequestIds;
import dev.roundhouse.platform.rest.ClientConnection;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Inference over HTTP, with JSON or binary tensors. */
@RestController
final class InferController {
  private final Engine engine;
  private final ModelLookup models;
  private final Inference inference;
  private final int maxBodyBytes;

  InferController(Inference inference, ModelLookup models, WorkerProperties properties) {
    this.inference = inference;
    engine = inference.engine();
    this.models = models;
    maxBodyBytes = Math.toIntExact(properties.server().maxMessageSize().toBytes());
  }

  @PostMapping("/v2/models/{name}/infer")
  void infer(@PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    infer(name, "", request, response);
  }

  @PostMapping("/v2/models/{name}/versions/{version}/infer")
  void infer(
      @PathVariable String name,
      @PathVariable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    try (MemoryHold memory = new MemoryHold(engine)) {
      InferDocument document = read(name, version, request, memory);
      request.setAttribute(RequestIds.KEY, document.message().id());
      try (InferExchange exchange = begin(document, memory)) {
        AwaitedAnswer awaited = new AwaitedAnswer(ClientConnection.of(request));
        try (Answer answer =
            awaited.run(engine, inference.request(exchange, WireRequest.NO_TIMEOUT, awaited))) {
          new InferWriter(exchange.response(answer, awaited.outcome(), Map.of()), document.forms())
              .write(request, response, memory);
        }
      }
    }
  }

  /** Reads; the body is not needed any more afterwards, unless tensors lie in it. */
  private InferDocument read(
      String name, String version, HttpServletRequest request, MemoryHold memory)
      throws IOException {
    Body body =
        new BodyReader(
                memory,
                maxBodyBytes,
                "send less, or raise roundhouse.worker.server.max-message-size")
            .read(request);
    InferDocument document = read(name, version, request, body, memory);
    if (!document.sharesBody()) {
      memory.giveBack(body.bytes().length);
    }
    return document;
  }

  /** Checks; what the inputs hold is counted by admission from here on. */
  private InferExchange begin(InferDocument document, MemoryHold memory) {
    InferExchange exchange = inference.begin(document.message());
    memory.giveBack(exchange.inlineBytes());
    return exchange;
  }

  private InferDocument read(
      String name, String version, HttpServletRequest request, Body body, MemoryHold memory) {
    String header = request.getHeader(InferWriter.JSON_LENGTH);
    int jsonLength = jsonLength(header, body);
    if (header != null && jsonLength == 0) {
      ModelSpec spec = models.ready(name, version).spec().orElseThrow();
      return RawInfer.read(name, version, spec.clientInputs(), body, memory);
    }
    return InferReader.read(name, version, body, jsonLength, memory);
  }

  private static int jsonLength(@Nullable String header, Body body) {
    if (header == null) {
      return body.length();
    }
    try {
      int length = Integer.parseInt(header.strip());
      if (length >= 0 && length <= body.length()) {
        return length;
      }
    } catch (NumberFormatException e) {
      // answered below
    }
    throw WireException.invalidArgument(
        "Unable to parse %s, got: '%s'; it must be a number of bytes from 0 to the body's %d"
            .formatted(InferWriter.JSON_LENGTH, header, body.length()));
  }
}
