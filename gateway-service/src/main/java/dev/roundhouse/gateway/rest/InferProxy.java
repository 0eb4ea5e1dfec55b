package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/**
 * Inference over HTTP, passed on to the worker that gets it. A worker that cannot answer is
 * followed by another, and one that takes long may be joined by one, when the body is small and
 * nothing was answered yet. All else is answered by others.
 */
public final class InferProxy implements RequestRoutes {
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  private final ModelRoutes routes;
  private final Workers workers;
  private final WorkerHttp http;
  private final ForwardingBudget memory;
  private final ClientText texts;
  private final RequestRoutes others;

  public InferProxy(
      ModelRoutes routes,
      Workers workers,
      WorkerHttp http,
      ForwardingBudget memory,
      ClientText texts,
      RequestRoutes others) {
    this.routes = routes;
    this.workers = workers;
    this.http = http;
    this.memory = memory;
    this.texts = texts;
    this.others = others;
  }

  @Override
  public RequestHandler route(String method, String target) {
    InferPath path = InferPath.of(method, target);
    return path == null ? others.route(method, target) : new Call(path, target);
  }

  /** One request, on a virtual thread. */
  private final class Call implements RequestHandler {
    private final InferPath path;
    private final String target;

    Call(InferPath path, String target) {
      this.path = path;
      this.target = target;
    }

    @Override
    public void handle(ReceivedRequest request, Reply reply) {
      Runnable over = () -> request.memory().giveBack(Kept.BODY, request.heldBytes());
      try {
        Thread.ofVirtual().name("http-infer").start(() -> answer(request, reply, over));
      } catch (Throwable e) { // an Error too: the client would wait for ever
        HttpFailure.tell(reply, texts, "", e, over);
      }
    }

    private void answer(ReceivedRequest request, Reply reply, Runnable over) {
      try {
        infer(request, reply);
        reply.end(over);
      } catch (StatusException e) {
        HttpFailure.tell(reply, texts, "", e.getStatus().asRuntimeException(e.getTrailers()), over);
      } catch (IOException | RuntimeException | Error e) {
        HttpFailure.tell(reply, texts, "", e, over);
      }
    }

    private void infer(ReceivedRequest request, Reply reply) throws IOException, StatusException {
      try (HeldShare share = HeldShare.take(memory, request.memory())) {
        WholeBody body = new WholeBody(request.body(), request.length());
        int jsonLength = jsonLength(request.header(JSON_LENGTH));
        String encoding = request.header(HttpHeaders.CONTENT_ENCODING);
        RequestHead head =
            RestHead.read(path.name(), path.version(), body.begin(), jsonLength, encoding);
        BooleanSupplier mayRunTwice =
            () -> !memory.isCrowded() && RestHead.mayRunTwice(body.begin(), jsonLength, encoding);
        ProxiedRequest asked = new ProxiedRequest(target, request.headers(), reply, share.caller());
        try (AskedWorkers answering =
            new AskedWorkers(asked, body, workers, http, routes.route(head), mayRunTwice)) {
          HttpResponse<InputStream> answer = answering.answer();
          try {
            WorkerHttp.answer(answer, reply);
          } catch (IOException e) {
            answering.notPassedOn();
            throw e;
          }
        }
      }
    }

    /** The thread of the request looks whether its client is there. */
    @Override
    public void gone() {}
  }

  private static int jsonLength(@Nullable String header) {
    try {
      return header == null ? -1 : Integer.parseInt(header.strip());
    } catch (NumberFormatException e) {
      return -1; // the worker says so
    }
  }
}
