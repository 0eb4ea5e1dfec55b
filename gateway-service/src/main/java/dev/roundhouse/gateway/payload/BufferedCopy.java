package dev.roundhouse.gateway.payload;

import dev.roundhouse.platform.payload.PayloadBody;
import dev.roundhouse.platform.payload.PayloadBytes;
import dev.roundhouse.platform.payload.PayloadEvent;
import dev.roundhouse.platform.payload.PayloadEvent.Type;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.transport.forward.PassingCopy;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The request and the answer of one call, each collected until it is whole and then sent. */
final class BufferedCopy implements PassingCopy {
  private final MessageForm form;
  private final String eventId;
  private final Instant begun = Instant.now();
  private final @Nullable PayloadBytes request;
  private final @Nullable PayloadBytes answer;
  private boolean requestIsOver;

  /** What the messages of a call are sent as. */
  interface MessageForm {
    PayloadBody request(byte[] whole);

    /** An answer over HTTP begins. */
    default void answerHead(HttpHeaders headers) {}

    PayloadBody answer(byte[] whole);
  }

  /**
   * @param given the id of the events; empty for one of their own
   */
  BufferedCopy(PayloadLog payloads, String given, MessageForm form) {
    this.form = form;
    eventId = PayloadLog.idOr(given);
    request = payloads.sendsRequests() ? new PayloadBytes(payloads) : null;
    answer = payloads.sendsAnswers() ? new PayloadBytes(payloads) : null;
  }

  @Override
  public void request(ByteBuf part) {
    if (request != null) {
      request.add(part);
    }
  }

  @Override
  public void requestEnd() {
    if (request != null && !requestIsOver) {
      requestIsOver = true;
      request.offer(whole -> event(Type.REQUEST, begun, form::request, whole));
    }
  }

  @Override
  public void answerHead(int code, HttpHeaders headers) {
    if (answer == null) {
      return;
    }
    try {
      form.answerHead(headers);
    } catch (RuntimeException | Error e) {
      answer.fail(e);
    }
  }

  @Override
  public void answer(ByteBuf part) {
    if (answer != null) {
      answer.add(part);
    }
  }

  @Override
  public void end(boolean answered) {
    if (request != null) {
      request.clear();
    }
    if (answer != null && answered) {
      answer.offer(whole -> event(Type.RESPONSE, Instant.now(), form::answer, whole));
    } else if (answer != null) {
      answer.clear();
    }
  }

  private PayloadEvent event(
      Type type, Instant time, Function<byte[], PayloadBody> body, byte[] whole) {
    return new PayloadEvent(type, eventId, time, body.apply(whole));
  }
}
