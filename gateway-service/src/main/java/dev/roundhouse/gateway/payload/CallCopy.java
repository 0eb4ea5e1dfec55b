package dev.roundhouse.gateway.payload;

import dev.roundhouse.platform.payload.PayloadBody;
import dev.roundhouse.platform.payload.PayloadBytes;
import dev.roundhouse.platform.payload.PayloadEvent;
import dev.roundhouse.platform.payload.PayloadEvent.Type;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.transport.forward.PassingCopy;
import io.netty.buffer.ByteBuf;
import java.time.Instant;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The messages of one ModelInfer, of which documents are made when they are sent. */
final class CallCopy implements PassingCopy {
  private final PayloadLog payloads;
  private final String eventId = PayloadLog.idOr("");
  private final Instant begun = Instant.now();
  private final @Nullable PayloadBytes request;
  private final @Nullable PayloadBytes answer;
  private boolean requestIsOver;

  CallCopy(PayloadLog payloads) {
    this.payloads = payloads;
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
      offer(Type.REQUEST, begun, request, CallDocuments::request);
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
      offer(Type.RESPONSE, Instant.now(), answer, CallDocuments::answer);
    } else if (answer != null) {
      answer.clear();
    }
  }

  private void offer(
      Type type,
      Instant time,
      PayloadBytes message,
      Function<byte[], PayloadBody.@Nullable Document> document) {
    byte[] whole = message.whole();
    if (whole != null) {
      PayloadBody body = new PayloadBody.Later(whole.length, () -> document.apply(whole));
      payloads.offer(new PayloadEvent(type, eventId, time, body));
    }
  }
}
