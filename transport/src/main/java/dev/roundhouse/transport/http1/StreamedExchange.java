package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request answered by this server by a handler that takes its body as it arrives. For the event
 * loop.
 */
final class StreamedExchange extends Exchange implements StreamedRequest {
  private static final Logger log = LoggerFactory.getLogger(StreamedExchange.class);
  private static final int BAD_REQUEST = 400;
  private static final int NO_CONTENT = 204;
  private static final int NOT_MODIFIED = 304;
  private static final int STALLED = 504;

  private final StreamedRequestHandler handler;

  /** The client waits for 100 Continue. */
  private boolean unasked;

  private boolean answering;

  /**
   * The handler is not called any more: it has ended the answer, or was told that the client is
   * gone.
   */
  private boolean over;

  StreamedExchange(Http1Connection connection, HttpRequest head, StreamedRequestHandler handler) {
    super(connection, head);
    this.handler = handler;
  }

  /**
   * @param asked whether the client waits for 100 Continue
   */
  void begin(boolean asked) {
    unasked = asked;
    try {
      handler.begin(this);
    } catch (Throwable e) { // an Error too: the client would wait forever
      failed(e);
    }
    if (unasked && !answering && !over) {
      unasked = false;
      connection.sendContinue();
    }
  }

  private void failed(Throwable failure) {
    log.error("a request failed unexpectedly", failure);
    tellGone();
    connection.close();
  }

  // The connection's side.

  @Override
  void content(HttpContent content) {
    if (content.decoderResult().isFailure()) {
      content.release();
      malformed(content.decoderResult().cause());
      return;
    }
    received = content instanceof LastHttpContent;
    if (over) {
      forget(content);
    } else {
      pass(content);
    }
    if (received) {
      connection.readOn(true);
      finish();
    }
  }

  private void pass(HttpContent content) {
    try {
      handler.body(content.content(), received);
    } catch (Throwable e) { // an Error too: the client would wait forever
      failed(e);
    }
  }

  private void forget(HttpContent content) {
    try {
      forget(content.content());
    } finally {
      content.release();
    }
  }

  private void malformed(Throwable why) {
    received = true; // the start of the next request is unknown
    keepAlive = false;
    if (answering) {
      connection.close();
    } else {
      tellGone();
      refuse(BAD_REQUEST, "the request's body is malformed: " + why.getMessage());
    }
  }

  @Override
  boolean isAnswering() {
    return answering;
  }

  @Override
  void gone() {
    tellGone();
    end();
  }

  private void tellGone() {
    if (!over) {
      over = true;
      handler.gone();
    }
  }

  @Override
  void stalled(String text) {
    connection.settings().load().stalled();
    keepAlive = false;
    if (answering) {
      connection.close(); // it has been told, at least in part
    } else {
      tellGone();
      refuse(STALLED, text);
    }
  }

  @Override
  void clientWritable(boolean writable) {
    if (!over) {
      handler.writableChanged();
    }
  }

  // The handler's side.

  @Override
  public HttpRequest head() {
    return head;
  }

  @Override
  public long length() {
    return HttpUtil.isTransferEncodingChunked(head) ? -1 : HttpUtil.getContentLength(head, 0L);
  }

  @Override
  public ConnectionMemory memory() {
    return connection.memory();
  }

  @Override
  public EventLoop loop() {
    return connection.context().channel().eventLoop();
  }

  @Override
  public void read(boolean wanted) {
    if (!received && !over) {
      connection.readOn(wanted);
    }
  }

  @Override
  public boolean isWritable() {
    return connection.context().channel().isWritable();
  }

  @Override
  public void answer(int code, long length, HttpHeaders headers) {
    answering = true;
    keepAlive &= !unasked && connection.end().mayStayOpen();
    HttpVersion version = head.protocolVersion();
    if (length >= 0) {
      headers.set(Replies.CONTENT_LENGTH, length);
    } else if (code != NO_CONTENT && code != NOT_MODIFIED) {
      if (version.isKeepAliveDefault()) {
        headers.set(Replies.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
      } else {
        keepAlive = false; // before HTTP/1.1 the body ends with the connection
      }
    }
    Replies.common(headers, version, keepAlive);
    context()
        .write(
            new DefaultHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(code), headers));
  }

  private ChannelHandlerContext context() {
    return connection.context();
  }

  @Override
  public void write(ByteBuf data) {
    context().write(new DefaultHttpContent(data));
  }

  @Override
  public void flush() {
    context().flush();
  }

  @Override
  public void end(Runnable left) {
    over = true; // before the client can have it all and send another
    ChannelFuture last = context().write(LastHttpContent.EMPTY_LAST_CONTENT);
    last.addListener(done -> left.run());
    EventLoops.flushAfterTurn(context().channel());
    endWith(last);
  }

  @Override
  public void refuse(int code, String text, Map<String, String> headers) {
    answering = true;
    keepAlive &= !unasked && connection.end().mayStayOpen(); // the body may or may not come
    endWith(connection.refuse(code, text, headers, keepAlive));
  }

  private void endWith(ChannelFuture last) {
    over = true;
    if (!received) {
      connection.readOn(true);
    }
    last.addListener(left -> answered(left.isSuccess() && keepAlive));
  }

  @Override
  public void abort() {
    over = true;
    connection.close();
  }
}
