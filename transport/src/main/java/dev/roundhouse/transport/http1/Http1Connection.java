package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.StallWatch;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ScheduledFuture;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection, whose requests are taken one after the other: what it sends ahead waits as
 * it came, and is not read beyond what one read has brought. For its event loop.
 */
final class Http1Connection extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(Http1Connection.class);
  private static final int BAD_REQUEST = 400;
  private static final int EXPECTATION_FAILED = 417;
  private static final int NOT_IMPLEMENTED = 501;

  /** A part of a connection's time after which is looked whether it is over. */
  private static final int LOOKS = 2;

  /** For a request that its client has sent before it could know. */
  private static final long ON_ITS_WAY_MILLIS = 300;

  /** When a client that sends no more is first asked whether it is there; then twice as late. */
  private static final long FIRST_ASKED_MILLIS = 250;

  /** Between looks while others need room. */
  private static final long PRESSED_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Http1Server server;
  private final Http1Settings settings;
  private final Arrivals arrivals;
  private final ConnectionMemory memory;
  private final MemoryBudget bodies;
  private final StallWatch arrival = new StallWatch();
  private final StallWatch departure = new StallWatch();

  /** Sent ahead of the answer to the request before; a request or two, the rest is not decoded. */
  private final Queue<Ahead> ahead = new ArrayDeque<>(1);

  /** Counted for heads, for what was sent ahead, and for a head that has come in part. */
  private long headBytes;

  private long aheadBytes;
  private long partBytes;

  private @Nullable ChannelHandlerContext ctx;

  /**
   * The request that is being taken or answered; null between requests. Whoever sees on another
   * thread that there is none sees since when, too.
   */
  private volatile @Nullable Exchange current;

  /** The answer to it may follow others that are not the last word. */
  private boolean takesInterim;

  private @Nullable ScheduledFuture<?> timer;
  private @Nullable ScheduledFuture<?> asking;
  private int requests;
  private boolean closing;

  /** The client sends no more. */
  private boolean ended;

  /** What does not get on is looked for, since others need room. */
  private boolean relieving;

  /** Since when no request has been under way, and what had come by then. */
  private long idleSinceNanos = System.nanoTime();

  private long arrivedBefore;
  private boolean isSecure;

  /**
   * What was sent ahead.
   *
   * @param message a part of a request
   * @param headBytes counted for it, when it is a head
   */
  private record Ahead(Object message, long headBytes) {}

  /** One request on its way. For the event loop. */
  interface Exchange {
    /** The next part of the request, which is taken. */
    void content(HttpContent content);

    /** True when the last part has come. */
    boolean isReceived();

    /** True when part of the answer may have left. */
    boolean isAnswering();

    /** The client has gone. Called once. */
    void gone();

    /** The client has stopped sending the request. */
    void stalled(String text);
  }

  Http1Connection(
      Http1Server server, Http1Settings settings, Arrivals arrivals, ConnectionMemory memory) {
    this.server = server;
    this.settings = settings;
    this.arrivals = arrivals;
    this.memory = memory;
    bodies = memory.of(Kept.BODY);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
    isSecure = added.pipeline().get(SslHandler.class) != null;
    Http1Settings.Times times = settings.times();
    long least = Math.min(times.stalled(), Math.min(times.silent(), times.idle())) / LOOKS;
    timer =
        added
            .executor()
            .scheduleWithFixedDelay(this::look, least, Math.max(least, 1), TimeUnit.NANOSECONDS);
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

  /** Where bodies are counted. */
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
        keepAhead(new Ahead(message, head));
      } else {
        take(message, head);
      }
    }
  }

  private long countedBytes(HttpRequest head) {
    return RequestHead.countedBytes(head, arrivals.headBytes());
  }

  private void keepAhead(Ahead sent) {
    long read = ahead.isEmpty() ? Http1Server.READ_BYTES : 0; // what has come and is not decoded
    long bytes = read + sent.headBytes();
    memory.add(Kept.CALL, bytes);
    aheadBytes += bytes;
    ahead.add(sent);
    arrivals.pause();
    context().channel().config().setAutoRead(false);
  }

  /** What waits may be read and decoded again. */
  private void readAgain() {
    forgetAhead();
    arrivals.resume();
    context().channel().config().setAutoRead(!ended);
  }

  /** Part of a head may have come, which is kept as it came. */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (current == null && !closing) {
      long came = arrivals.bytes() - arrivedBefore;
      long part = came == 0 ? 0 : Math.max(came, arrivals.keptBufferBytes());
      if (part > partBytes) {
        memory.add(Kept.CALL, part - partBytes);
        partBytes = part;
      }
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
        content.release(); // of a head that was refused
      } else {
        taking.content(content);
      }
    }
  }

  private void begin(HttpRequest head, long countedBytes) {
    requests++;
    takesInterim = head.protocolVersion().compareTo(HttpVersion.HTTP_1_1) >= 0;
    forgetPart();
    Throwable malformed = head.decoderResult().cause();
    if (malformed != null) {
      refuse(codeOf(malformed), "the request's head is malformed: " + malformed.getMessage());
      return;
    }
    String expected = head.headers().get(HttpHeaderNames.EXPECT);
    if (expected != null && !HttpHeaderValues.CONTINUE.contentEqualsIgnoreCase(expected)) {
      refuse(EXPECTATION_FAILED, "Expect '" + expected + "' is not known; 100-continue is");
      return;
    }
    String coding = head.headers().get(HttpHeaderNames.TRANSFER_ENCODING);
    if (coding != null && !HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(coding)) {
      refuse(NOT_IMPLEMENTED, "Transfer-Encoding '" + coding + "' is not supported; chunked is");
      return;
    }
    if (!RequestHead.hasHost(head)) {
      refuse(
          BAD_REQUEST, "the request's head is malformed: Host is no name or address of a server");
      return;
    }
    if (head.method().equals(HttpMethod.CONNECT)) { // what follows its answer would be no HTTP
      refuse(NOT_IMPLEMENTED, "method CONNECT is not supported: this server is no proxy");
      return;
    }
    String excess = excess(head);
    if (excess != null) {
      refuse(HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE.code(), excess);
      return;
    }
    String full = keep(countedBytes);
    if (full != null) {
      refuse(BodyAssembly.TOO_MANY, full);
      return;
    }
    RequestGuard.Refusal refusal = settings.guard().refusal(guarded(head));
    if (refusal != null) {
      LocalExchange refused = new LocalExchange(this, head, LocalExchange.NOBODY);
      current = refused;
      refused.begin(refusal, expected != null);
      return;
    }
    RequestHandler handler = settings.routes().route(head.method().name(), head.uri());
    LocalExchange exchange = new LocalExchange(this, head, handler);
    current = exchange;
    exchange.begin(expected != null);
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
        : "unknown:0"; // it has gone
  }

  private static @Nullable String excess(HttpRequest head) {
    int fields = head.headers().size();
    return fields <= RequestHead.MAX_FIELDS
        ? null
        : "the request's head has %d fields, the limit is %d; send fewer"
            .formatted(fields, RequestHead.MAX_FIELDS);
  }

  /** Counts a head for as long as its request is under way; null when there is room for it. */
  private @Nullable String keep(long bytes) {
    String full = bytes == 0 ? null : memory.take(Kept.CALL, bytes);
    headBytes = full == null ? bytes : 0;
    return full;
  }

  private void forgetHead() {
    if (headBytes > 0) {
      memory.giveBack(Kept.CALL, headBytes);
      headBytes = 0;
    }
  }

  private void forgetAhead() {
    if (aheadBytes > 0) {
      memory.giveBack(Kept.CALL, aheadBytes);
      aheadBytes = 0;
    }
  }

  private void forgetPart() {
    if (partBytes > 0) {
      memory.giveBack(Kept.CALL, partBytes);
      partBytes = 0;
    }
  }

  private static int codeOf(Throwable malformed) {
    if (malformed instanceof TooLongHttpLineException) {
      return HttpResponseStatus.REQUEST_URI_TOO_LONG.code();
    }
    return malformed instanceof TooLongHttpHeaderException
        ? HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE.code()
        : BAD_REQUEST;
  }

  /** Has a client send its body that waits to be asked for it; to others it says nothing. */
  void sendContinue() {
    context()
        .writeAndFlush(
            new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE));
  }

  /** Nothing that follows what has come can be understood. */
  private void refuse(int code, String text) {
    closing = true;
    refuse(code, text, false).addListener(told -> server.endInStages(context()));
  }

  /** Tells why there is no other answer, which is counted while the client does not read it. */
  ChannelFuture refuse(int code, String text, boolean keepAlive) {
    FullHttpResponse reply = Replies.error(settings, code, text, keepAlive);
    long bytes = Replies.HEAD_BYTES + (long) reply.content().capacity();
    ChannelFuture told = context().writeAndFlush(reply);
    if (!told.isDone()) {
      memory.add(Kept.REFUSAL, bytes);
      told.addListener(left -> memory.giveBack(Kept.REFUSAL, bytes));
    }
    return told;
  }

  /** True when the connection stays open after the answer to a request. */
  boolean keepsAlive(HttpRequest request) {
    int most = settings.limits().maxRequests();
    return HttpUtil.isKeepAlive(request) && mayStayOpen() && (most < 0 || requests < most);
  }

  /** False when connections are closed as soon as they may be. Any thread. */
  boolean mayStayOpen() {
    return server.keepsConnections();
  }

  /** The request has come and its answer has left: the next one, or the end. */
  void done(boolean keepAlive) {
    boolean mayFollow = current != null && !current.isReceived();
    idleSinceNanos = System.nanoTime();
    current = null;
    forgetHead();
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
      Ahead next = ahead.remove();
      take(next.message(), next.headBytes());
    }
    if (ahead.isEmpty() && !closing) {
      readAgain();
      if (ended) { // after what has come meanwhile
        context().executor().execute(this::closeIfAllIsAnswered);
      }
      if (isIdle() && server.isFull()) {
        server.makeRoom();
      }
    }
  }

  /** The client sends no more: what has come whole is answered. */
  void inputEnded() {
    ended = true;
    context().channel().config().setAutoRead(false); // the end would be read over and over
    context().executor().execute(this::closeIfAllIsAnswered); // after what waits to be decoded
    askLater(FIRST_ASKED_MILLIS);
  }

  private void closeIfAllIsAnswered() {
    boolean underWay = current != null && current.isReceived();
    if (!closing && !underWay && ahead.isEmpty() && !arrivals.isPaused()) {
      close();
    }
  }

  private void askLater(long millis) {
    if (!closing) {
      asking =
          context()
              .executor()
              .schedule(() -> askWhetherThere(millis), millis, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * A client that sends no more waits for its answer or has gone, and the two look the same until
   * something is sent: then the system of one that has gone resets the connection, and the next
   * write fails. So it is sent what every client of HTTP/1.1 passes over (RFC 9110, 15.2).
   */
  private void askWhetherThere(long waitedMillis) {
    Exchange waiting = current;
    if (!closing && takesInterim && waiting != null && !waiting.isAnswering()) {
      sendContinue();
    }
    askLater(2 * waitedMillis);
  }

  /** True between requests; any thread, as far as that can be known there. */
  boolean isIdle() {
    return current == null;
  }

  /** Since when no request has been under way; as {@link #isIdle}. */
  long idleSinceNanos() {
    return idleSinceNanos;
  }

  /** Ends the connection with what has been written. */
  void close() {
    closing = true;
    context().close();
  }

  /** Ends the connection, unless a request is under way or on its way: that is answered first. */
  void closeWhenIdle() {
    context().executor().schedule(this::closeIfIdle, ON_ITS_WAY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Ends the connection unless a request is under way or has begun to come. */
  void closeIfIdle() {
    if (current == null && arrivals.bytes() == arrivedBefore) {
      close();
    }
  }

  /** Others need room: for as long as they do, ends what does not get on. */
  void relieve() {
    if (!relieving) {
      relieving = true;
      lookInHaste();
    }
  }

  private void lookInHaste() {
    if (closing || !memory.isPressed()) {
      relieving = false;
      return;
    }
    look(settings.times().hurried());
    var unused =
        context().executor().schedule(this::lookInHaste, PRESSED_LOOK_NANOS, TimeUnit.NANOSECONDS);
  }

  private void look() {
    look(settings.times());
  }

  /** Looks whether the client has taken too long. */
  private void look(Http1Settings.Times times) {
    long now = System.nanoTime();
    if (hasStoppedReading(now, times.silent())) {
      settings.load().stalled();
      context().channel().config().setOption(ChannelOption.SO_LINGER, 0); // or the system waits on
      close();
      return;
    }
    Exchange taking = current;
    if (taking == null) {
      lookForHead(now, times);
      return;
    }
    if (taking.isReceived() || !context().channel().config().isAutoRead()) {
      arrival.rest();
    } else if (arrival.hasStalled(requests, arrivals.bytes(), now, times.stalled())) {
      taking.stalled(
          "the request's body has stopped arriving: neither the rest nor %d bytes of it have come in %d ms; send it faster, or %s"
              .formatted(
                  StallWatch.LEAST_BYTES,
                  TimeUnit.NANOSECONDS.toMillis(times.stalled()),
                  times.stalledRemedy()));
    }
  }

  /** Between requests: part of a head may have come. */
  private void lookForHead(long now, Http1Settings.Times times) {
    long came = arrivals.bytes() - arrivedBefore;
    if (came == 0) {
      arrival.rest();
      long allowed = requests == 0 ? times.silent() : times.idle();
      if (now - idleSinceNanos >= allowed) {
        close();
      }
    } else if (arrival.hasStalled(-requests, 0, now, times.stalled())) {
      settings.load().stalled();
      close();
    }
  }

  private boolean hasStoppedReading(long now, long allowed) {
    ChannelOutboundBuffer unsent = context().channel().unsafe().outboundBuffer();
    if (unsent == null || unsent.totalPendingWriteBytes() == 0) {
      departure.rest();
      return false;
    }
    long left = unsent.totalPendingWriteBytes() - unsent.currentProgress();
    return departure.hasStalled(unsent.size(), -left, now, allowed);
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
    if (timer != null) {
      timer.cancel(false);
    }
    if (asking != null) {
      asking.cancel(false);
    }
    while (!ahead.isEmpty()) {
      ReferenceCountUtil.release(ahead.remove().message());
    }
    forgetAhead();
    forgetHead();
    forgetPart();
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
      log.debug("a connection has failed", cause); // TLS that is none, too
    } else {
      log.error("a connection failed unexpectedly, and is closed", cause);
    }
    context.close();
  }
}
