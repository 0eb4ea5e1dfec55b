package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.BodyReader;
import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;

/** Answers HTTP inference on event loops; others answer the rest. Thread-safe. */
public final class InferRoutes implements RequestRoutes {
  /** Told to a client whose body is too large. */
  public static final String REMEDY =
      "send less, or raise roundhouse.worker.server.max-message-size";

  private final Inference inference;
  private final InferDocuments documents;
  private final ClientText texts;
  private final int maxBodyBytes;
  private final FairTurns inflating;
  private final RequestRoutes others;

  /**
   * @param texts error texts for callers
   * @param maxBodyBytes of a body, uncompressed
   * @param inflating threads that decompress bodies
   * @param others answer everything else
   */
  public InferRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      int maxBodyBytes,
      FairTurns inflating,
      RequestRoutes others) {
    this.inference = inference;
    documents = new InferDocuments(models);
    this.texts = texts;
    this.maxBodyBytes = maxBodyBytes;
    this.inflating = inflating;
    this.others = others;
  }

  @Override
  public RouteTarget route(String method, String target) {
    InferPath path = InferPath.of(method, target);
    return path == null ? others.route(method, target) : new HttpInferCall(this, path);
  }

  Inference inference() {
    return inference;
  }

  InferDocuments documents() {
    return documents;
  }

  ClientText texts() {
    return texts;
  }

  /**
   * Reads bodies of a client.
   *
   * @param memory where they are counted
   */
  BodyReader bodies(ConnectionMemory client, MemoryHold memory) {
    return new BodyReader(
        memory, maxBodyBytes, REMEDY, job -> inflating.submit(client.peer(), job));
  }
}
