package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.ReadMessage;
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
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request of the generate extension: inputs and outputs are properties of one JSON object, and
 * each part of the answer is one. On a virtual thread from its body to its end, which waits while
 * its client does not read, and with it the model.
 */
final class GenerateCall implements RequestHandler {
  private final InferRoutes routes;
  private final InferPath path;
  private final @Nullable CallerRights rights;
  private final boolean isStream;
  private volatile @Nullable Submission submission;

  /**
   * @param rights of the caller; null when nothing is checked
   * @param isStream whether each part of the answer is an event; else there is one
   */
  GenerateCall(
      InferRoutes routes, InferPath path, @Nullable CallerRights rights, boolean isStream) {
    this.routes = routes;
    this.path = path;
    this.rights = rights;
    this.isStream = isStream;
  }

  @Override
  public void handle(ReceivedRequest request, Reply reply) {
    MemoryHold memory = new MemoryHold(request.memory(), Kept.BODY);
    memory.adopt(request.heldBytes());
    try {
      Thread.ofVirtual().name("http-generate").start(() -> answer(request, reply, memory));
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(reply, new AboutRequest(null, routes.inference().caller(request)), e, memory::close);
    }
  }

  private void answer(ReceivedRequest request, Reply reply, MemoryHold memory) {
    InferExchange exchange;
    GenerateParts parts = new GenerateParts();
    try {
      Inference inference = routes.inference();
      Inference.admit(rights, path.name(), request.length());
      exchange = inference.begin(read(request, reply, memory));
      exchange.spent(SpentHeader.nanos(request.header(SpentHeader.NAME)));
      exchange.calledIn(inference.caller(request));
      memory.giveBack(exchange.inlineBytes()); // admission counts them from here on
      submit(request, reply, exchange, parts);
    } catch (Throwable e) {
      fail(reply, new AboutRequest(null, routes.inference().caller(request)), e, memory::close);
      return;
    }
    Throwable failure = isStream ? stream(reply, exchange, parts) : one(reply, exchange, parts);
    Runnable over =
        () -> {
          exchange.close();
          memory.close();
        };
    if (failure == null) {
      reply.end(over);
    } else {
      fail(reply, exchange.about(), failure, over);
    }
  }

  private ReadMessage read(ReceivedRequest request, Reply reply, MemoryHold memory) {
    ModelSpec spec = routes.models().ready(path.name(), path.version()).spec().orElseThrow();
    try {
      return GenerateReader.read(
          spec, path.version(), routes.bodies().read(request, reply, memory), memory);
    } catch (WireException e) {
      routes.inference().countRefused(path.name(), e);
      throw e;
    }
  }

  private void submit(
      ReceivedRequest request, Reply reply, InferExchange exchange, GenerateParts parts) {
    Inference inference = routes.inference();
    int caller =
        CallerHeader.caller(request.memory().peerNumber(), request.header(CallerHeader.NAME));
    Submission submitted;
    try {
      submitted =
          inference
              .engine()
              .submit(
                  inference.request(exchange, RequestOptions.NO_TIMEOUT, caller, rights, parts));
    } catch (Throwable e) {
      exchange.close();
      throw e;
    }
    submission = submitted;
    if (reply.isGone()) {
      submitted.cancel(); // it may have gone before there was anything to cancel
    }
  }

  /** Sends each part as it comes; returns why it must end otherwise than well. */
  private @Nullable Throwable stream(Reply reply, InferExchange exchange, GenerateParts parts) {
    GenerateWriter writer = new GenerateWriter(reply);
    Throwable failure = null;
    boolean endTold = !exchange.wantsReceipt();
    for (Answer part = parts.next(); part != null; part = parts.next()) {
      try (Answer shown = part) {
        endTold |= shown.isLast();
        if (failure == null) {
          writer.event(exchange.response(shown, parts.outcomeOf(shown), Map.of()));
        }
      } catch (IOException | RuntimeException | Error e) {
        failure = e;
        cancel();
      }
    }
    if (failure == null) {
      failure = parts.failure();
    }
    try {
      if (failure == null && !endTold && parts.end() instanceof Outcome.Completed completed) {
        writer.event(exchange.end(completed, Map.of()));
      } else if (failure == null) {
        writer.begin();
      } else if (reply.hasBegun() && failure instanceof WireException told) {
        writer.event(routes.texts().of(told.text()));
        return null;
      }
    } catch (IOException | RuntimeException | Error e) {
      return e;
    }
    return failure;
  }

  /** Sends the only part; returns why there is none. */
  private @Nullable Throwable one(Reply reply, InferExchange exchange, GenerateParts parts) {
    Answer first = parts.next();
    Throwable failure = null;
    for (Answer more = parts.next(); more != null; more = parts.next()) {
      more.close();
      failure = ofParts("more than one part");
      cancel();
    }
    if (failure == null) {
      failure = parts.failure();
    }
    try (Answer shown = first) {
      if (failure != null) {
        return failure;
      }
      if (shown == null) {
        return ofParts("no part at all");
      }
      new GenerateWriter(reply).only(exchange.response(shown, parts.end(), Map.of()));
      return null;
    } catch (IOException | RuntimeException | Error e) {
      return e;
    }
  }

  private WireException ofParts(String found) {
    return WireException.invalidArgument(
        "model '%s' answered in %s, and generate has exactly one; ask generate_stream"
            .formatted(path.name(), found));
  }

  private void fail(Reply reply, AboutRequest about, Throwable failure, Runnable over) {
    HttpFailure.tell(reply, routes.texts(), about, failure, over);
  }

  private void cancel() {
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  @Override
  public void gone() {
    cancel();
  }
}
