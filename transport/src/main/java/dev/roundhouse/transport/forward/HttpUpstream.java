package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.EventLoops;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection to a server for forwarded HTTP requests, one at a time. For its event loop. */
final class HttpUpstream extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(HttpUpstream.class);

  /** Bytes discarded of an unwanted answer before the connection is given up. */
  private static final int MOST_FORGOTTEN = 64 << 10;

  private static final int LEAST_CODE = 200;
  private static final int MOST_CODE = 999;

  /** States of the connection and its request. */
  private enum State {
    /** Not established yet; it may have been given a request. */
    CONNECTING,
    /** It has no request. */
    IDLE,
    /** The answer's head has not arrived. */
    ASKED,
    ANSWERING,
    /** What arrives is discarded. */
    FORGETTING,
    /** The answer has arrived; what was read with it has not been looked at. */
    ENDED,
    CLOSED
  }

  /** Why there is no answer, or no more of it. */
  enum Loss {
    /** There is no connection. */
    UNREACHED,
    /** A kept connection has ended before any answer. */
    KEPT_CLOSED,
    /** The server may have begun. */
    MAYBE_BEGUN
  }

  /** Told of a request's progress. On the event loop. */
  interface Answers {
    /** The request can be sent. Not called for an established connection. */
    void onConnected();

    /** Whether the server takes more of the request has changed. */
    void onWritableChanged();

    void onHead(HttpResponse head);

    /**
     * @param data takes ownership
     */
    void onData(ByteBuf data);

    /** All parts of one read have been passed on, and the answer has not ended. */
    void onReadComplete();

    /** The whole answer has arrived; the connection is no longer this request's. */
    void onEnd();

    /** There is no answer, or no more of it; nothing follows. */
    void onLost(Loss loss, String why);
  }

  private final Consumer<HttpUpstream> keeping;
  private State state = State.CONNECTING;
  private @Nullable Channel channel;
  private @Nullable Answers answers;

  /** It has had a request before. */
  private boolean isKept;

  /** Anything has arrived since the request began. */
  private boolean heard;

  /** An interim answer is arriving. */
  private boolean informational;

  /** The whole request has been sent. */
  private boolean isSent;

  private boolean keepAlive;
  private long forgotten;
  private long idleSinceNanos;
  private String end = "it has closed the connection";

  /**
   * @param keeping takes the connection when it has no request and stays open
   */
  HttpUpstream(Consumer<HttpUpstream> keeping) {
    this.keeping = keeping;
  }

  // Connection.

  void connectingBy(Channel made) {
    channel = made;
  }

  private Channel channel() {
    return Objects.requireNonNull(channel, "not connecting");
  }

  boolean isOpen() {
    return state != State.CLOSED && channel().isActive();
  }

  boolean isConnected() {
    return state != State.CONNECTING;
  }

  /** Since when it has had no request. */
  long idleSinceNanos() {
    return idleSinceNanos;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    if (added.channel().isActive()) { // after a TLS handshake
      connected();
    }
  }

  @Override
  public void channelActive(ChannelHandlerContext active) {
    connected();
    active.fireChannelActive();
  }

  private void connected() {
    if (state != State.CONNECTING) {
      return;
    }
    Answers waiting = answers;
    if (waiting == null) {
      idle();
    } else {
      state = State.ASKED;
      waiting.onConnected();
    }
  }

  void notConnected(String why) {
    lose(Loss.UNREACHED, why);
  }

  /** The request is over. */
  private void idle() {
    answers = null;
    isKept = true;
    state = State.IDLE;
    idleSinceNanos = System.nanoTime();
    channel().config().setAutoRead(true); // so that its end is noticed
    keeping.accept(this);
  }

  void close() {
    state = State.CLOSED;
    if (channel().isOpen()) { // one for which there was no descriptor cannot be closed
      channel().close();
    }
  }

  private void lose(Loss loss, String why) {
    Answers lost = answers;
    answers = null;
    state = State.CLOSED;
    if (lost != null) {
      lost.onLost(loss, why);
    }
  }

  /** Notes that bytes have arrived, before they are decoded. */
  ChannelHandler hearing() {
    return new ChannelInboundHandlerAdapter() {
      @Override
      public void channelRead(ChannelHandlerContext ctx, Object message) {
        heard = true;
        ctx.fireChannelRead(message);
      }
    };
  }

  // Request.

  /** Gives it a request, sent once it {@link #isConnected}. */
  void begin(Answers of) {
    answers = of;
    heard = false;
    isSent = false;
    if (state == State.IDLE) {
      state = State.ASKED;
    }
  }

  void send(HttpRequest head) {
    channel().write(head);
  }

  /**
   * Sends part of the body.
   *
   * @param data owned by this
   */
  void send(ByteBuf data, boolean last) {
    if (!last) {
      channel().writeAndFlush(new DefaultHttpContent(data));
      return;
    }
    Answers of = answers;
    channel()
        .write(new DefaultLastHttpContent(data))
        .addListener(sent -> isSent |= sent.isSuccess() && of == answers);
    EventLoops.flushAfterTurn(channel());
  }

  /** False while the server takes no more. */
  boolean isWritable() {
    return state != State.CONNECTING && channel().isWritable();
  }

  /** Resumes or pauses reading of the answer. */
  void read(boolean wanted) {
    channel().config().setAutoRead(wanted);
  }

  /** The answer is no longer wanted. */
  void leave() {
    answers = null;
    if (state != State.CONNECTING) { // once established it can serve another
      close();
    }
  }

  /** Discards the rest of the answer, whose head has arrived; the connection may be kept. */
  void forget() {
    answers = null;
    forgotten = 0;
    state = State.FORGETTING;
  }

  // Receiving.

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    HttpObject part = (HttpObject) message;
    if (part.decoderResult().isFailure()) {
      ReferenceCountUtil.release(part);
      broken(part.decoderResult().cause().getMessage());
      return;
    }
    if (part instanceof HttpResponse head) {
      informational = head.status().codeClass() == HttpStatusClass.INFORMATIONAL;
    }
    if (informational) {
      ReferenceCountUtil.release(part);
      if (part instanceof HttpResponse head
          && head.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS)) {
        broken("it speaks another protocol now");
      }
      return;
    }
    if (part instanceof HttpResponse head) {
      head(head);
    }
    if (part instanceof HttpContent content) {
      content(content);
    }
  }

  private void broken(@Nullable String why) {
    lose(Loss.MAYBE_BEGUN, "it does not answer in HTTP/1.1: " + why);
    close();
  }

  private void head(HttpResponse head) {
    Answers of = answers;
    if (state == State.ENDED) {
      keepAlive = false; // unasked; the next request must not take it for its answer
      return;
    }
    if (state != State.ASKED || of == null) {
      close();
      return;
    }
    int code = head.status().code();
    if (code < LEAST_CODE || code > MOST_CODE) {
      broken("its status is " + code);
      return;
    }
    keepAlive = HttpUtil.isKeepAlive(head);
    state = State.ANSWERING;
    of.onHead(head);
  }

  private void content(HttpContent content) {
    boolean last = content instanceof LastHttpContent;
    Answers of = answers;
    if (state == State.ANSWERING && of != null) {
      of.onData(content.content());
    } else {
      forgotten += content.content().readableBytes();
      content.release();
    }
    if (last && (state == State.ANSWERING || state == State.FORGETTING)) {
      state = State.ENDED;
    } else if (forgotten > MOST_FORGOTTEN && state == State.FORGETTING) {
      close();
    }
  }

  private void ended() {
    Answers of = answers;
    if (keepAlive && isSent && isOpen()) {
      idle();
    } else {
      answers = null;
      close();
    }
    if (of != null) {
      of.onEnd();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (state == State.ENDED) {
      ended();
    } else if (answers != null) {
      answers.onReadComplete();
    }
    ctx.fireChannelReadComplete();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (answers != null && state != State.CONNECTING) {
      answers.onWritableChanged();
    }
    ctx.fireChannelWritabilityChanged();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (state == State.ENDED) {
      ended();
    }
    boolean unheard = isKept && state == State.ASKED && !heard;
    String how =
        switch (state) {
          case ANSWERING -> " within its answer";
          case ASKED -> " before it has answered";
          default -> "";
        };
    lose(unheard ? Loss.KEPT_CLOSED : Loss.MAYBE_BEGUN, end + how);
    ctx.fireChannelInactive();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    log.debug("the connection to {} has failed", ctx.channel().remoteAddress(), cause);
    end = "the connection was lost (" + cause.getMessage() + ")";
    ctx.close();
  }
}
