package dev.roundhouse.platform.rest;

import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.io.FairTurns;
import org.springframework.http.HttpHeaders;

/** Bodies of requests that have arrived as a whole, compressed or not. Thread-safe. */
public final class RequestBodies {
  private final int limit;
  private final String remedy;
  private final FairTurns inflating;

  /**
   * @param limit bytes of a body, uncompressed
   * @param remedy told to a client whose body is larger
   * @param inflating threads that decompress
   */
  public RequestBodies(int limit, String remedy, FairTurns inflating) {
    this.limit = limit;
    this.remedy = remedy;
    this.inflating = inflating;
  }

  /**
   * A request's body, uncompressed; waits for that when it is long.
   *
   * @param memory holds what arrived, and from now on what the body is in
   */
  public Body read(ReceivedRequest request, Reply reply, MemoryHold memory) {
    String encoding = request.header(HttpHeaders.CONTENT_ENCODING);
    if (encoding == null) {
      return new Body(request.body(), request.length());
    }
    Body body =
        new BodyReader(memory, limit, remedy, job -> inflating.submit(request.memory().peer(), job))
            .uncompressed(encoding, request.body(), request.length(), reply::isGone);
    memory.giveBack(request.heldBytes());
    return body;
  }
}
