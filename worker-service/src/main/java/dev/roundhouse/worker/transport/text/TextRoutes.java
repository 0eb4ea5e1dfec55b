package dev.roundhouse.worker.transport.text;

import dev.roundhouse.platform.rest.BodyReader;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.platform.rest.TextPath;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;

/** Answers requests of texts; others answer the rest. Thread-safe. */
public final class TextRoutes implements RequestRoutes {
  private final Inference inference;
  private final ModelLookup models;
  private final ClientText texts;
  private final int maxBodyBytes;
  private final String remedy;
  private final FairTurns inflating;
  private final RequestRoutes others;

  /**
   * @param texts error texts for callers
   * @param maxBodyBytes of a body, uncompressed
   * @param remedy told to a client whose body is larger
   * @param inflating threads that decompress bodies
   * @param others answer everything else
   */
  public TextRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      int maxBodyBytes,
      String remedy,
      FairTurns inflating,
      RequestRoutes others) {
    this.inference = inference;
    this.models = models;
    this.texts = texts;
    this.maxBodyBytes = maxBodyBytes;
    this.remedy = remedy;
    this.inflating = inflating;
    this.others = others;
  }

  @Override
  public RouteTarget route(String method, String target) {
    TextPath path = TextPath.of(method, target);
    return path == null ? others.route(method, target) : new TextCall(this, path);
  }

  Inference inference() {
    return inference;
  }

  ModelLookup models() {
    return models;
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
        memory, maxBodyBytes, remedy, job -> inflating.submit(client.peer(), job));
  }
}
