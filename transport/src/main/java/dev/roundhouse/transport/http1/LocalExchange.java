package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request answered by this server. For the event loop. */
final class LocalExchange extends Exchange {
  private static final Logger log = LoggerFactory.getLogger(LocalExchange.class);
  private static final int BAD_REQUEST = 400;
  private static final int STALLED = 504;
  private static final byte[] NOTHING = {};

  /** Handles a request refused by its head alone. */
  static final RequestHandler NOBODY =
      new RequestHandler() {
        @Override
        public void handle(ReceivedRequest request, Reply reply) {
          throw new IllegalStateException("the request has been refused");
        }

        @Override
        public void gone() {}
      };

  private final RequestHandler handler;

  /** Null once the body has been handed over, or when it is not wanted. */
  private @Nullable BodyAssembly body;

  /** Null until the request has been handed over. */
  private @Nullable Reply reply;

  LocalExchange(Http1Connection connection, HttpRequest head, RequestHandler handler) {
    super(connection, head);
    this.handler = handler;
  }

  /** Refuses it before its body, which is then discarded. */
  void begin(RequestGuard.Refusal refusal, boolean asked) {
    keepAlive &= !asked; // the body may or may not come
    refuse(refusal.code(), refusal.text());
  }

  /**
   * @param asked whether the client waits for 100 Continue
   */
  void begin(boolean asked) {
    Http1Settings.BodyLimits limits = handler.body(connection.settings().body());
    if (limits == null) {
      keepAlive &= !asked; // the body may or may not come
      hand(NOTHING, 0);
      return;
    }
    long length =
        HttpUtil.isTransferEncodingChunked(head) ? -1 : HttpUtil.getContentLength(head, 0L);
    try {
      body = new BodyAssembly(limits, connection.bodies(), length);
    } catch (RequestRefusedException e) {
      keepAlive &= !asked; // the body may or may not come
      refuse(e.code(), e.text());
      return;
    }
    if (asked) {
      connection.sendContinue();
    }
  }

  @Override
  void content(HttpContent content) {
    try {
      if (content.decoderResult().isFailure()) {
        malformed(content.decoderResult().cause());
        return;
      }
      add(content.content());
      received = content instanceof LastHttpContent;
    } finally {
      content.release();
    }
    if (received) {
      handOver();
    }
  }

  private void add(ByteBuf data) {
    BodyAssembly wanted = body;
    if (wanted == null) {
      forget(data);
      return;
    }
    try {
      wanted.add(data);
    } catch (RequestRefusedException e) {
      refuse(e.code(), e.text());
    }
  }

  private void malformed(@Nullable Throwable why) {
    received = true; // the start of the next request is unknown
    keepAlive = false;
    if (body != null) {
      refuse(BAD_REQUEST, "the request's body is malformed: " + message(why));
    } else {
      connection.close();
    }
  }

  private static String message(@Nullable Throwable why) {
    return why == null ? "it is not understood" : String.valueOf(why.getMessage());
  }

  private void handOver() {
    BodyAssembly whole = body;
    if (whole == null) {
      finish();
      return;
    }
    body = null;
    hand(whole.bytes(), whole.length());
  }

  private void hand(byte[] bytes, int length) {
    Reply made =
        new Reply(
            this, connection.context(), connection.memory(), head.protocolVersion(), keepAlive);
    reply = made;
    ReceivedRequest request = new ReceivedRequest(head.headers(), bytes, length, connection);
    try {
      handler.handle(request, made);
    } catch (Throwable e) { // an Error too: the client would wait forever
      log.error("a request failed unexpectedly", e);
      made.abort(() -> {});
    }
  }

  /** Sends the reason before the rest has arrived, which is then discarded. */
  private void refuse(int code, String text) {
    if (body != null) {
      body.close();
      body = null;
    }
    connection
        .refuse(code, text, keepAlive)
        .addListener(written -> answered(written.isSuccess() && keepAlive));
  }

  /** Any thread. */
  boolean mayStayOpen() {
    return connection.end().mayStayOpen();
  }

  @Override
  boolean isAnswering() {
    Reply begun = reply;
    return begun == null ? body == null : isAnswered() || begun.hasBegun();
  }

  @Override
  void gone() {
    if (body != null) {
      body.close();
      body = null;
    }
    Reply begun = reply;
    if (begun != null && !isEnded()) {
      begun.lose();
      handler.gone();
    }
    end();
  }

  @Override
  void stalled(String text) {
    connection.settings().load().stalled();
    keepAlive = false;
    if (body == null) {
      connection.close(); // it has been told
    } else {
      refuse(STALLED, text);
    }
  }
}
