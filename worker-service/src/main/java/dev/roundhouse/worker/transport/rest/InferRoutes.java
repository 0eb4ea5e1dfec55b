package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import org.jspecify.annotations.Nullable;

/**
 * Finds inference among the requests of the worker's own HTTP server, and answers it on event
 * loops. A path that is written in an unusual way is left to the controllers. Thread-safe.
 */
public final class InferRoutes implements RequestRoutes {
  /** What a client is told whose body is too large. */
  public static final String REMEDY =
      "send less, or raise roundhouse.worker.server.max-message-size";

  private final Inference inference;
  private final InferDocuments documents;
  private final ClientText texts;
  private final int maxBodyBytes;
  private final FairTurns inflating;

  /**
   * @param texts what callers are told
   * @param maxBodyBytes of a body, uncompressed
   * @param inflating has the threads that uncompress bodies
   */
  public InferRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      int maxBodyBytes,
      FairTurns inflating) {
    this.inference = inference;
    documents = new InferDocuments(models);
    this.texts = texts;
    this.maxBodyBytes = maxBodyBytes;
    this.inflating = inflating;
  }

  @Override
  public @Nullable RequestHandler route(String method, String target) {
    if (!method.equals("POST")) {
      return null;
    }
    int query = target.indexOf('?');
    String[] parts = (query < 0 ? target : target.substring(0, query)).split("/", -1);
    boolean ofVersion = parts.length == 7 && parts[4].equals("versions");
    if (!(parts.length == 5 || ofVersion)
        || !parts[0].isEmpty()
        || !parts[1].equals("v2")
        || !parts[2].equals("models")
        || !parts[parts.length - 1].equals("infer")) {
      return null;
    }
    String version = ofVersion ? parts[5] : "";
    boolean plain = isPlain(parts[3]) && (!ofVersion || isPlain(version));
    return plain ? new HttpInferCall(this, parts[3], version) : null;
  }

  /** True of a part of a path that can only mean itself. */
  private static boolean isPlain(String part) {
    boolean more = false;
    for (int i = 0; i < part.length(); i++) {
      char c = part.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!letter && c != '-' && c != '_' && c != '.' && c != '~') {
        return false;
      }
      more |= c != '.';
    }
    return more;
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
