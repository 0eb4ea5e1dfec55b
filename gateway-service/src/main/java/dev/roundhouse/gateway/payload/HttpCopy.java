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
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The bodies of one inference over HTTP, as they are, with the headers that say what they are. */
final class HttpCopy implements PassingCopy {
  private static final String[] FORM = {
    "content-type", "content-encoding", "inference-header-content-length"
  };

  private final PayloadLog payloads;
  private final String eventId;
  private final Instant begun = Instant.now();
  private final Map<String, String> form;
  private final @Nullable PayloadBytes request;
  private final @Nullable PayloadBytes answer;
  private Map<String, String> answerForm = Map.of();
  private boolean requestIsOver;

  HttpCopy(PayloadLog payloads, HttpHeaders headers) {
    this.payloads = payloads;
    String said = headers.get("ce-id");
    eventId = PayloadLog.idOr(said == null ? "" : said);
    form = form(headers);
    request = payloads.sendsRequests() ? new PayloadBytes(payloads) : null;
    answer = payloads.sendsAnswers() ? new PayloadBytes(payloads) : null;
  }

  private static Map<String, String> form(HttpHeaders headers) {
    Map<String, String> form = new LinkedHashMap<>();
    for (String name : FORM) {
      String value = headers.get(name);
      if (value != null) {
        form.put(name, value);
      }
    }
    form.putIfAbsent("content-type", PayloadBody.JSON);
    return form;
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
      offer(Type.REQUEST, begun, request, form);
    }
  }

  @Override
  public void answerHead(int code, HttpHeaders headers) {
    answerForm = form(headers);
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
      offer(Type.RESPONSE, Instant.now(), answer, answerForm);
    } else if (answer != null) {
      answer.clear();
    }
  }

  private void offer(Type type, Instant time, PayloadBytes body, Map<String, String> headers) {
    byte[] whole = body.whole();
    if (whole != null) {
      payloads.offer(new PayloadEvent(type, eventId, time, new PayloadBody.AsIs(headers, whole)));
    }
  }
}
