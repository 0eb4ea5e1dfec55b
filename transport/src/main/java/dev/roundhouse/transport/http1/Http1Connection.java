package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.TlsFailures;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection. Requests are taken one after the other: what the client sends ahead waits
 * undecoded, and no more than one read of it is taken. For its event loop.
 */
final class Http1Connection extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(Http1Connection.class);

  private final Http1Settings settings;
  private final Arrivals arrivals;
  private final ConnectionMemory memory;
  private final MemoryBudget bodies;
  private final SentAhead ahead;
  private final ConnectionEnd end;
  private final ClientWatch watch;
  private @Nullable ChannelHandlerContext ctx;

  /**
   * The request being received or answered; null between requests. A thread that reads null also
   * sees the idle time.
   */
  private volatile @Nullable Exchange current;

  /** Interim (1xx) answers may precede the answer to it. */
  private boolean takesInterim;

  private int requests;
  private @Nullable SslHandler tls;

  Http1Connection(
      Http1Server server, Http1Settings settings, Arrivals arrivals, ConnectionMemory memory) {
    this.settings = settings;
    this.arrivals = arrivals;
    this.memory = memory;
    bodies = memory.of(Kept.BODY);
    ahead = new SentAhead(memory);
    end = new ConnectionEnd(this, server, arrivals);
    watch = new ClientWatch(this, end, settings, arrivals, memory);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
    tls = added.pipeline().get(SslHandler.class);
    watch.start(added);
  }

  /** The TLS session; null for plain text. */
  @Nullable SSLSession session() {
    SslHandler secured = tls;
    return secured == null ? null : secured.engine().getSession();
  }

  ChannelHandlerContext context() {
    ChannelHandlerContext known = ctx;
    if (known == null) {
      throw new IllegalStateException("the connection is not part of a channel");
    }
    return known;
  }

  Http1Settings settings() {
    return settings;
  }

  ConnectionMemory memory() {
    return memory;
  }

  ConnectionEnd end() {
    return end;
  }

  /** Counts bodies. */
  MemoryBudget bodies() {
    return bodies;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (end.isClosing()) {
      ReferenceCountUtil.release(message);
    } else {
      long head =
          message instanceof HttpRequest come
              ? RequestHead.countedBytes(come, arrivals.headBytes())
              : 0;
      if (!ahead.isEmpty() || (current != null && current.isReceived())) {
        keepAhead(new SentAhead.Part(message, head));
      } else {
        take(message, head);
      }
    }
  }

  private void keepAhead(SentAhead.Part sent) {
    ahead.add(sent);
    arrivals.pause();
    context().channel().config().setAutoRead(false);
  }

  /** What waits may be read and decoded again. */
  private void readAgain() {
    ahead.forgetAhead();
    arrivals.resume();
    context().channel().config().setAutoRead(end.isOpen());
  }

  /** Part of a head may have arrived and is kept undecoded. */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (current == null && !end.isClosing()) {
      long came = end.arrivedSinceIdle();
      ahead.keepPart(came == 0 ? 0 : Math.max(came, arrivals.keptBufferBytes()));
    }
    context.fireChannelReadComplete();
  }

  private void take(Object message, long countedBytes) {
    if (message instanceof HttpRequest head) {
      begin(head, countedBytes);
    }
    if (message instanceof HttpContent content) {
      Exchange taking = current;
      if (taking == null) {
        content.release(); // of a refused head
      } else {
        taking.content(content);
      }
    }
  }

  private void begin(HttpRequest head, long countedBytes) {
    requests++;
    takesInterim = head.protocolVersion().compareTo(HttpVersion.HTTP_1_1) >= 0;
    ahead.forgetPart();
    RequestGuard.Refusal malformed = HeadRules.refusal(head);
    if (malformed != null) {
      refuse(malformed.code(), malformed.text());
      return;
    }
    String full = ahead.keepHead(countedBytes);
    if (full != null) {
      refuse(BodyAssembly.TOO_MANY, full);
      return;
    }
    boolean expected = head.headers().contains(HttpHeaderNames.EXPECT);
    RequestGuard.Verdict verdict = settings.guard().judge(guarded(head));
    if (verdict.refusal() != null) {
      LocalExchange refused = new LocalExchange(this, head, LocalExchange.NOBODY);
      current = refused;
      refused.begin(verdict.refusal(), expected);
      return;
    }
    switch (settings.routes().route(head.method().name(), head.uri(), verdict.caller())) {
      case RequestHandler whole -> {
        LocalExchange exchange = new LocalExchange(this, head, whole);
        current = exchange;
        exchange.begin(expected);
      }
      case StreamedRequestHandler streamed -> {
        StreamedExchange exchange = new StreamedExchange(this, head, streamed);
        current = exchange;
        exchange.begin(expected);
      }
    }
  }

  private RequestGuard.Head guarded(HttpRequest head) {
    Channel socket = context().channel();
    return new RequestGuard.Head(
        head.method().name(),
        head.uri(),
        head.headers(),
        this::clientAddress,
        socket.localAddress(),
        socket.remoteAddress(),
        session());
  }

  /** Address and port of the client. */
  String clientAddress() {
    return context().channel().remoteAddress() instanceof InetSocketAddress known
        ? known.getAddress().getHostAddress() + ":" + known.getPort()
        : "unknown:0"; // the client is gone
  }

  /** Tells a client that waits for it to send its body; nothing for others. */
  void sendContinue() {
    context()
        .writeAndFlush(
            new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE));
  }

  /** Nothing after this can be understood. */
  private void refuse(int code, String text) {
    end.stop();
    refuse(code, text, false).addListener(told -> end.closeInStages());
  }

  /** Sends the reason why there is no other answer; counted until the client has read it. */
  ChannelFuture refuse(int code, String text, boolean keepAlive) {
    return refuse(code, text, Map.of(), keepAlive);
  }

  /**
   * @param headers besides
   */
  ChannelFuture refuse(int code, String text, Map<String, String> headers, boolean keepAlive) {
    return Replies.refuse(context(), settings, memory, code, text, headers, keepAlive);
  }

  /** True when the connection stays open after this request's answer. */
  boolean keepsAlive(HttpRequest request) {
    int most = settings.limits().maxRequests();
    return HttpUtil.isKeepAlive(request) && end.mayStayOpen() && (most < 0 || requests < most);
  }

  /** The request has arrived and its answer is sent: take the next one, or end. */
  void done(boolean keepAlive) {
    boolean mayFollow = current != null && !current.isReceived();
    end.answered();
    current = null;
    ahead.forgetHead();
    if (!keepAlive) {
      if (mayFollow) {
        end.closeInStages();
      } else {
        end.close();
      }
      return;
    }
    end.awaitNext();
    while (!end.isClosing() && !ahead.isEmpty() && (current == null || !current.isReceived())) {
      SentAhead.Part next = ahead.next();
      take(next.message(), next.headBytes());
    }
    if (ahead.isEmpty() && !end.isClosing()) {
      readAgain();
      end.closeOnceAnswered();
      if (isIdle()) {
        end.offerRoom();
      }
    }
  }

  /** The client sends no more: requests that arrived whole are answered. */
  void inputEnded() {
    end.inputEnded();
    watch.inputEnded();
  }

  /** True when no request that arrived waits for its answer. */
  boolean isAnswered() {
    return (current == null || !current.isReceived()) && ahead.isEmpty();
  }

  /** True while a request waits for its answer and interim answers may come. */
  boolean awaitsAnswer() {
    Exchange waiting = current;
    return !end.isClosing() && takesInterim && waiting != null && !waiting.isAnswering();
  }

  /** The current request; null between requests. */
  @Nullable Exchange current() {
    return current;
  }

  /** How many requests have begun. */
  int requests() {
    return requests;
  }

  /** True between requests; approximate on other threads. */
  boolean isIdle() {
    return current == null;
  }

  /** Closes the connection at once. What has been written and not sent is lost. */
  void close() {
    end.close();
  }

  /** Resumes or pauses reading of the request. */
  void readOn(boolean wanted) {
    if (!wanted) {
      arrivals.pause();
    } else if (ahead.isEmpty() && arrivals.isPaused()) {
      arrivals.resume();
      end.closeOnceAnswered();
    }
    context().channel().config().setAutoRead(wanted && ahead.isEmpty() && end.isOpen());
  }

  /** While others need room, ends the connection if it makes no progress. */
  void relieve() {
    watch.relieve();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    boolean writable = context.channel().isWritable();
    if (current instanceof StreamedExchange streamed) {
      streamed.clientWritable(writable);
    }
    context.fireChannelWritabilityChanged();
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    gone();
    context.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    gone();
  }

  private void gone() {
    watch.stop();
    ahead.close();
    end.stop();
    Exchange left = current;
    current = null;
    if (left != null) {
      left.gone();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause instanceof IOException || cause.getCause() instanceof IOException) {
      log.debug("a connection has failed", cause);
      TlsFailures.tell(context.channel().remoteAddress(), cause);
    } else {
      log.error("a connection failed unexpectedly, and is closed", cause);
    }
    context.close();
  }
}
