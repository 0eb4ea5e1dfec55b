package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.codec.WireRequest;
import dev.roundhouse.platform.logging.RequestIds;
import dev.roundhouse.platform.rest.ClientConnection;
import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Inference over HTTP, with JSON or binary tensors. */
@RestController
final class InferController {
  private final Engine engine;
  private final InferDocuments documents;
  private final Inference inference;
  private final int maxBodyBytes;
  private final PeerMemory peers;
  private final FairTurns inflating;

  InferController(
      Inference inference,
      ModelLookup models,
      WorkerProperties properties,
      PeerMemory peers,
      FairTurns inflating) {
    this.inference = inference;
    this.peers = peers;
    this.inflating = inflating;
    engine = inference.engine();
    documents = new InferDocuments(models);
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
    try (ClientMemory client = ClientMemory.of(peers, request);
        MemoryHold memory = new MemoryHold(client.memory(), Kept.BODY)) {
      InferDocument document = read(name, version, request, client, memory);
      request.setAttribute(RequestIds.KEY, document.message().id());
      try (InferExchange exchange = begin(document, memory)) {
        exchange.spent(SpentHeader.nanos(request.getHeader(SpentHeader.NAME)));
        AwaitedAnswer awaited = new AwaitedAnswer(ClientConnection.of(request));
        try (Answer answer =
            awaited.run(
                engine,
                inference.request(
                    exchange, WireRequest.NO_TIMEOUT, caller(client, request), awaited))) {
          new InferWriter(exchange.response(answer, awaited.outcome(), Map.of()), document.forms())
              .write(
                  request.getHeader(HttpHeaders.ACCEPT_ENCODING),
                  new ServletTarget(response),
                  memory);
        }
      }
    }
  }

  private static int caller(ClientMemory client, HttpServletRequest request) {
    return CallerHeader.caller(client.memory().peerNumber(), request.getHeader(CallerHeader.NAME));
  }

  /** Reads; the body is not needed any more afterwards, unless tensors lie in it. */
  private InferDocument read(
      String name,
      String version,
      HttpServletRequest request,
      ClientMemory client,
      MemoryHold memory)
      throws IOException {
    Object peer = client.memory().peer();
    Body body =
        new BodyReader(memory, maxBodyBytes, InferRoutes.REMEDY, job -> inflating.submit(peer, job))
            .read(request);
    return documents.read(name, version, request.getHeader(InferWriter.JSON_LENGTH), body, memory);
  }

  /** Checks; what the inputs hold is counted by admission from here on. */
  private InferExchange begin(InferDocument document, MemoryHold memory) {
    InferExchange exchange = inference.begin(document.message());
    memory.giveBack(exchange.inlineBytes());
    return exchange;
  }
}
