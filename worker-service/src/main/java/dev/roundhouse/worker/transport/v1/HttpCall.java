package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.ErrorForm;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.platform.rest.V1InferPath;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/**
 * One inference over HTTP, from its request to the engine. Read on the connection's event loop, for
 * its header is short; on a virtual thread when its body is compressed.
 */
final class HttpCall implements RequestHandler {
  private final V1Routes routes;
  private final V1InferPath path;
  private final @Nullable CallerRights rights;
  private volatile @Nullable Submission submission;

  HttpCall(V1Routes routes, V1InferPath path, @Nullable CallerRights rights) {
    this.routes = routes;
    this.path = path;
    this.rights = rights;
  }

  @Override
  public void handle(ReceivedRequest request, Reply reply) {
    MemoryHold memory = new MemoryHold(request.memory(), Kept.BODY);
    memory.adopt(request.heldBytes());
    try {
      if (request.header(HttpHeaders.CONTENT_ENCODING) != null) {
        Thread.ofVirtual().name("v1-read").start(() -> begin(request, reply, memory));
        return;
      }
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(request, reply, e, memory);
      return;
    }
    begin(request, reply, memory);
  }

  private void begin(ReceivedRequest request, Reply reply, MemoryHold memory) {
    try {
      submit(request, reply, memory);
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(request, reply, e, memory);
    }
  }

  private void submit(ReceivedRequest request, Reply reply, MemoryHold memory) {
    boolean isBinary = path.isBinary();
    AskedModel asked = new AskedModel(path.name(), version(), header(request));
    Body body = routes.bodies().read(request, reply, memory);
    V1Exchange exchange = routes.inference().begin(asked, new BodyInputs(body), rights);
    Inference v2 = routes.inference().inference();
    exchange.v2().calledIn(v2.caller(request));
    memory.giveBack(exchange.v2().inlineBytes()); // admission counts them from here on
    Submission submitted;
    try {
      HttpAnswer answer =
          new HttpAnswer(
              exchange,
              isBinary,
              routes,
              reply,
              memory,
              new MemoryHold(request.memory(), Kept.ANSWER));
      submitted =
          v2.engine()
              .submit(
                  v2.request(
                      exchange.v2(), RequestOptions.NO_TIMEOUT, caller(request), rights, answer));
    } catch (Throwable e) {
      exchange.close();
      throw e;
    }
    submission = submitted;
    if (reply.isGone()) {
      submitted.cancel(); // it may have gone before there was anything to cancel
    }
  }

  private long version() {
    if (path.version().isEmpty()) {
      return AskedModel.LATEST;
    }
    try {
      return Long.parseLong(path.version());
    } catch (NumberFormatException e) {
      throw WireException.invalidArgument(
          "version '%s' of the path is no whole number; leave it out for the one that answers"
              .formatted(path.version()));
    }
  }

  private static InferRequestHeader header(ReceivedRequest request) {
    String text = request.header(HeaderText.REQUEST);
    if (text == null) {
      throw WireException.invalidArgument(
          "header %s is missing; send an InferRequestHeader in protobuf's text form"
              .formatted(HeaderText.REQUEST));
    }
    return HeaderText.request(text);
  }

  private void fail(ReceivedRequest request, Reply reply, Throwable failure, MemoryHold memory) {
    AboutRequest about = new AboutRequest(null, routes.inference().inference().caller(request));
    HttpFailure.tell(reply, routes.texts(), about, failure, ErrorForm.V1, memory::close);
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
