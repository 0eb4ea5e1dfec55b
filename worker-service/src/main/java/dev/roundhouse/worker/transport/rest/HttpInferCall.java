package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/**
 * One HTTP inference, from its request to the engine. Read on the connection's event loop, or on a
 * virtual thread when that is CPU-heavy.
 */
final class HttpInferCall implements RequestHandler {
  /** JSON that is short enough to read on an event loop. */
  private static final int BRIEF_BYTES = 16 << 10;

  private final InferRoutes routes;
  private final InferPath path;
  private final @Nullable CallerRights rights;
  private volatile @Nullable Submission submission;

  HttpInferCall(InferRoutes routes, InferPath path, @Nullable CallerRights rights) {
    this.routes = routes;
    this.path = path;
    this.rights = rights;
  }

  @Override
  public void handle(ReceivedRequest request, Reply reply) {
    MemoryHold memory = new MemoryHold(request.memory(), Kept.BODY);
    memory.adopt(request.heldBytes());
    try {
      if (takesLong(request)) {
        Thread.ofVirtual().name("http-read").start(() -> begin(request, reply, memory));
        return;
      }
    } catch (Throwable e) { // an Error too: the client would wait forever
      HttpFailure.tell(reply, routes.texts(), about(request), e, memory::close);
      return;
    }
    begin(request, reply, memory);
  }

  private static boolean takesLong(ReceivedRequest request) {
    if (request.header(HttpHeaders.CONTENT_ENCODING) != null) {
      return true;
    }
    String json = request.header(InferWriter.JSON_LENGTH);
    if (json == null || request.length() <= BRIEF_BYTES) {
      return request.length() > BRIEF_BYTES;
    }
    try {
      return Integer.parseInt(json.strip()) > BRIEF_BYTES;
    } catch (NumberFormatException e) {
      return false; // it is refused before anything is read
    }
  }

  private void begin(ReceivedRequest request, Reply reply, MemoryHold memory) {
    try {
      submit(request, reply, memory);
    } catch (Throwable e) { // an Error too: the client would wait forever
      HttpFailure.tell(reply, routes.texts(), about(request), e, memory::close);
    }
  }

  private void submit(ReceivedRequest request, Reply reply, MemoryHold memory) {
    Inference.admit(rights, path.name(), request.length());
    InferDocument document = read(request, reply, memory);
    Inference inference = routes.inference();
    InferExchange exchange = inference.begin(document.message());
    exchange.spent(SpentHeader.nanos(request.header(SpentHeader.NAME)));
    exchange.calledIn(inference.caller(request));
    memory.giveBack(exchange.inlineBytes()); // admission counts them from here on
    Submission submitted;
    try {
      HttpInferAnswer answer =
          new HttpInferAnswer(
              exchange,
              document.forms(),
              request.header(HttpHeaders.ACCEPT_ENCODING),
              reply,
              memory,
              new MemoryHold(request.memory(), Kept.ANSWER),
              routes.texts());
      submitted =
          inference
              .engine()
              .submit(
                  inference.request(
                      exchange, RequestOptions.NO_TIMEOUT, caller(request), rights, answer));
    } catch (Throwable e) {
      exchange.close();
      throw e;
    }
    submission = submitted;
    if (reply.isGone()) {
      submitted.cancel(); // it may have gone before there was anything to cancel
    }
  }

  private InferDocument read(ReceivedRequest request, Reply reply, MemoryHold memory) {
    try {
      return routes
          .documents()
          .read(
              path.name(),
              path.version(),
              request.header(InferWriter.JSON_LENGTH),
              routes.bodies().read(request, reply, memory),
              memory);
    } catch (WireException e) {
      routes.inference().countRefused(path.name(), e);
      throw e;
    }
  }

  /** Its id is not known before its body has been read. */
  private AboutRequest about(ReceivedRequest request) {
    return new AboutRequest(null, routes.inference().caller(request));
  }

  private static int caller(ReceivedRequest request) {
    return CallerHeader.caller(request.memory().peerNumber(), request.header(CallerHeader.NAME));
  }

  @Override
  public void gone() {
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }
}
