package dev.roundhouse.worker.transport.text;

import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.rest.ErrorForm;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.platform.rest.TextPath;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.Inference;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/** One request of texts, on a virtual thread from its body to its answer. */
final class TextCall implements RequestHandler {
  private final TextRoutes routes;
  private final TextPath path;
  private final @Nullable CallerRights rights;
  private volatile boolean isGone;
  private volatile @Nullable TextRun running;

  TextCall(TextRoutes routes, TextPath path, @Nullable CallerRights rights) {
    this.routes = routes;
    this.path = path;
    this.rights = rights;
  }

  @Override
  public void handle(ReceivedRequest request, Reply reply) {
    MemoryHold memory = new MemoryHold(request.memory(), Kept.BODY);
    memory.adopt(request.heldBytes());
    try {
      Thread.ofVirtual().name("http-text").start(() -> answer(request, reply, memory));
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(request, reply, e, memory);
    }
  }

  private void answer(ReceivedRequest request, Reply reply, MemoryHold memory) {
    try {
      TextRequest asked = read(request, reply, memory);
      Inference.admit(rights, asked.model(), request.length());
      TextRun run =
          new TextRun(
              routes.inference(),
              routes.models(),
              memory,
              CallerHeader.caller(request.memory().peerNumber(), request.header(CallerHeader.NAME)),
              rights,
              SpentHeader.nanos(request.header(SpentHeader.NAME)),
              routes.inference().caller(request));
      running = run;
      if (isGone) {
        run.cancel(); // it may have gone before there was anything to cancel
      }
      TextResults results = run.run(asked);
      reply.header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE);
      try (OutputStream out = reply.body()) {
        asked.write(results, out);
      }
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(request, reply, e, memory);
      return;
    }
    reply.end(memory::close);
  }

  private void fail(ReceivedRequest request, Reply reply, Throwable failure, MemoryHold memory) {
    AboutRequest about = new AboutRequest(null, routes.inference().caller(request));
    HttpFailure.tell(reply, routes.texts(), about, failure, ErrorForm.OPENAI, memory::close);
  }

  private TextRequest read(ReceivedRequest request, Reply reply, MemoryHold memory) {
    RequestFields fields =
        switch (path) {
          case EMBEDDINGS -> new EmbeddingsRequest();
          case RERANK -> new RerankRequest();
          case CLASSIFY -> new ClassifyRequest();
        };
    return fields.read(routes.bodies().read(request, reply, memory), memory);
  }

  @Override
  public void gone() {
    isGone = true;
    TextRun run = running;
    if (run != null) {
      run.cancel();
    }
  }
}
