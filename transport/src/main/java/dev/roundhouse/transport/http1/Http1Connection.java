package dev.roundhouse.transport.http1;

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
import java.util.concurrent.TimeUnit;
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

  /** For a request sent before the client could know of the close. */
  private static final long ON_ITS_WAY_MILLIS = 300;

  private final Http1Server server;
  private final Http1Settings settings;
  private final Arrivals arrivals;
  private final ConnectionMemory memory;
  private final MemoryBudget bodies;
  private final SentAhead ahead;
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
  private boolean closing;

  /** The client sends no more. */
  private boolean ended;

  /** Since when no request has been in progress, and the bytes received by then. */
  private long idleSinceNanos = System.nanoTime();

  private long arrivedBefore;
  private boolean isSecure;

  Http1Connection(
      Http1Server server, Http1Settings settings, Arrivals arrivals, ConnectionMemory memory) {
    this.server = server;
    this.settings = settings;
    this.arrivals = arrivals;
    this.memory = memory;
    bodies = memory.of(Kept.BODY);
    ahead = new SentAhead(memory);
    watch = new ClientWatch(this, settings, arrivals, memory);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
    isSecure = added.pipeline().get(SslHandler.class) != null;
    watch.start(added);
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

  /** Counts bodies. */
  MemoryBudget bodies() {
    return bodies;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (closing) {
      ReferenceCountUtil.release(message);
    } else {
      long head = message instanceof HttpRequest come ? countedBytes(come) : 0;
      if (!ahead.isEmpty() || (current != null && current.isReceived())) {
        keepAhead(new SentAhead.Part(message, head));
      } else {
        take(message, head);
      }
    }
  }

  private long countedBytes(HttpRequest head) {
    return RequestHead.countedBytes(head, arrivals.headBytes());
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
    context().channel().config().setAutoRead(!ended);
  }

  /** Part of a head may have arrived and is kept undecoded. */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (current == null && !closing) {
      long came = arrivedSinceIdle();
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
    RequestGuard.Refusal refusal = settings.guard().refusal(guarded(head));
    if (refusal != null) {
      LocalExchange refused = new LocalExchange(this, head, LocalExchange.NOBODY);
      current = refused;
      refused.begin(refusal, expected);
      return;
    }
    switch (settings.routes().route(head.method().name(), head.uri())) {
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
        isSecure);
  }

  /** Null for plain text. */
  @Nullable SSLSession session() {
    SslHandler tls = context().pipeline().get(SslHandler.class);
    return tls == null ? null : tls.engine().getSession();
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
    closing = true;
    refuse(code, text, false).addListener(told -> server.endInStages(context()));
  }

  /** Sends the reason why there is no other answer; counted until the client has read it. */
  ChannelFuture refuse(int code, String text, boolean keepAlive) {
    return Replies.refuse(context(), settings, memory, code, text, keepAlive);
  }

  /** True when the connection stays open after this request's answer. */
  boolean keepsAlive(HttpRequest request) {
    int most = settings.limits().maxRequests();
    return HttpUtil.isKeepAlive(request) && mayStayOpen() && (most < 0 || requests < most);
  }

  /** False when connections are closed as soon as possible. Any thread. */
  boolean mayStayOpen() {
    return server.keepsConnections();
  }

  /** The request has arrived and its answer is sent: take the next one, or end. */
  void done(boolean keepAlive) {
    boolean mayFollow = current != null && !current.isReceived();
    idleSinceNanos = System.nanoTime();
    current = null;
    ahead.forgetHead();
    if (!keepAlive && mayFollow) {
      closing = true;
      server.endInStages(context());
      return;
    }
    if (!keepAlive) {
      close();
      return;
    }
    if (!mayStayOpen()) { // the client has not been told so
      closeWhenIdle();
    }
    arrivedBefore = arrivals.bytes();
    while (!closing && !ahead.isEmpty() && (current == null || !current.isReceived())) {
      SentAhead.Part next = ahead.next();
      take(next.message(), next.headBytes());
    }
    if (ahead.isEmpty() && !closing) {
      readAgain();
      if (ended) { // after what has arrived meanwhile
        context().executor().execute(this::closeIfAllIsAnswered);
      }
      if (isIdle() && server.isFull()) {
        server.makeRoom();
      }
    }
  }

  /** The client sends no more: requests that arrived whole are answered. */
  void inputEnded() {
    ended = true;
    context().channel().config().setAutoRead(false); // the end would be read repeatedly
    context().executor().execute(this::closeIfAllIsAnswered); // after what waits for decoding
    watch.inputEnded();
  }

  private void closeIfAllIsAnswered() {
    boolean underWay = current != null && current.isReceived();
    if (!closing && !underWay && ahead.isEmpty() && !arrivals.isPaused()) {
      close();
    }
  }

  /** True while a request waits for its answer and interim answers may come. */
  boolean awaitsAnswer() {
    Exchange waiting = current;
    return !closing && takesInterim && waiting != null && !waiting.isAnswering();
  }

  boolean isClosing() {
    return closing;
  }

  /** The current request; null between requests. */
  @Nullable Exchange current() {
    return current;
  }

  /** How many requests have begun. */
  int requests() {
    return requests;
  }

  /** Bytes received since the last request ended. */
  long arrivedSinceIdle() {
    return arrivals.bytes() - arrivedBefore;
  }

  /** True between requests; approximate on other threads. */
  boolean isIdle() {
    return current == null;
  }

  /** Since when no request has been in progress; see {@link #isIdle}. */
  long idleSinceNanos() {
    return idleSinceNanos;
  }

  /** Closes the connection after pending writes. */
  void close() {
    closing = true;
    context().close();
  }

  /** Closes the connection once a request in progress, or already sent, has been answered. */
  void closeWhenIdle() {
    context().executor().schedule(this::closeIfIdle, ON_ITS_WAY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Closes the connection unless a request is in progress or has begun to arrive. */
  void closeIfIdle() {
    if (current == null && arrivedSinceIdle() == 0) {
      close();
    }
  }

  /** Resumes or pauses reading of the request. */
  void readOn(boolean wanted) {
    if (!wanted) {
      arrivals.pause();
    } else if (ahead.isEmpty() && arrivals.isPaused()) {
      arrivals.resume();
      if (ended) { // after the current decoding
        context().executor().execute(this::closeIfAllIsAnswered);
      }
    }
    context().channel().config().setAutoRead(wanted && ahead.isEmpty() && !ended);
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
    closing = true;
    end();
    context.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    end();
  }

  private void end() {
    watch.stop();
    ahead.close();
    closing = true;
    Exchange left = current;
    current = null;
    if (left != null) {
      left.gone();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause instanceof IOException || cause.getCause() instanceof IOException) {
      log.debug("a connection has failed", cause); // including data that is not TLS
    } else {
      log.error("a connection failed unexpectedly, and is closed", cause);
    }
    context.close();
  }
}
