package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.platform.rest.HttpFailure;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Outcomes;
import dev.roundhouse.worker.transport.rest.InferDocument.OutputForms;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one HTTP inference, from the engine to the connection. Written on the connection's
 * event loop, tensors in place; CPU-heavy work (much JSON, compression, or a copy to shared memory)
 * runs on a virtual thread.
 */
final class HttpInferAnswer implements AnswerSink {
  private final InferExchange exchange;
  private final OutputForms forms;
  private final @Nullable String accepted;
  private final Reply reply;
  private final MemoryHold request;
  private final MemoryHold memory;
  private final ClientText texts;
  private @Nullable Answer answer;

  /**
   * @param exchange closed when the answer has been sent, or never will be; as is all memory
   * @param request what is held of the request
   * @param memory for what of the answer is written in one piece
   * @param forms that the client wants outputs in
   * @param accepted the request's Accept-Encoding
   */
  HttpInferAnswer(
      InferExchange exchange,
      OutputForms forms,
      @Nullable String accepted,
      Reply reply,
      MemoryHold request,
      MemoryHold memory,
      ClientText texts) {
    this.exchange = exchange;
    this.forms = forms;
    this.accepted = accepted;
    this.reply = reply;
    this.request = request;
    this.memory = memory;
    this.texts = texts;
  }

  @Override
  public String onManyParts() {
    return "HTTP end point doesn't support models with decoupled transaction policy";
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome outcome) {
    reply.execute(() -> tell(outcome));
  }

  private static void onVirtualThread(Runnable task) {
    Thread.ofVirtual().name("http-write").start(task);
  }

  private void tell(Outcome outcome) {
    try {
      Answer part = answer;
      if (part == null) {
        throw Outcomes.failure(outcome);
      }
      if (exchange.writesShared() && !Thread.currentThread().isVirtual()) {
        onVirtualThread(() -> tell(outcome));
        return;
      }
      ResponseMessage response = exchange.response(part, outcome, Map.of());
      InferWriter writer = new InferWriter(response, forms);
      if (!Thread.currentThread().isVirtual() && writer.takesLong(accepted)) {
        onVirtualThread(() -> write(writer));
      } else {
        write(writer);
      }
    } catch (Throwable e) { // an Error too: the client would wait forever
      fail(e);
    }
  }

  private void write(InferWriter writer) {
    try {
      writer.write(accepted, reply, memory);
    } catch (IOException | RuntimeException | Error e) {
      fail(e);
      return;
    }
    reply.end(this::close);
  }

  private void fail(Throwable failure) {
    HttpFailure.tell(reply, texts, exchange.about(), failure, this::close);
  }

  private void close() {
    exchange.close();
    request.close();
    memory.close();
    Answer part = answer;
    if (part != null) {
      part.close();
    }
  }
}
