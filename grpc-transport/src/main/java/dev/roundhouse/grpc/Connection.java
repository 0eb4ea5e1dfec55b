package dev.roundhouse.grpc;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection: makes calls of its streams, and writes what they answer. Answers of
 * other threads are gathered and written together, one wake-up of the event loop for all of them.
 */
final class Connection extends Http2ConnectionHandler {
  private static final Logger log = LoggerFactory.getLogger(Connection.class);

  private final Http2Server server;
  private final ServerSettings settings;
  private final Http2Connection.PropertyKey callKey;
  private final Queue<Call.Outbound> outbound = PlatformDependent.newMpscQueue();
  private final AtomicBoolean writing = new AtomicBoolean();
  private final ConnectionTimers timers;
  private final CallOpener opener;
  private final StallWatch frames = new StallWatch();
  private final StallWatch socket = new StallWatch();
  private long messagesWritten;

  /** What the client has allowed for all streams together by WINDOW_UPDATE. */
  private long credit;

  private @Nullable ChannelHandlerContext ctx;
  private Attributes attributes = Attributes.EMPTY;
  private boolean secure;

  /** What was read is being handled: what is written meanwhile goes out after it. */
  private boolean reading;

  private boolean ready;
  private boolean flushing;
  private boolean spokenTo;

  Connection(
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings initial,
      Http2Server server,
      ServerSettings settings) {
    super(decoder, encoder, initial);
    this.server = server;
    this.settings = settings;
    callKey = connection().newKey();
    timers =
        new ConnectionTimers(
            this,
            settings.manners(),
            settings.handshakeNanos(),
            settings.stalledNanos(),
            settings.unreadNanos());
    opener = new CallOpener(this, server, settings);
    Events events = new Events();
    decoder.frameListener(events);
    connection().addListener(events);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) throws Exception {
    ctx = added;
    super.handlerAdded(added);
    if (added.channel().isActive()) {
      begin(added);
    }
  }

  @Override
  public void channelActive(ChannelHandlerContext active) throws Exception {
    super.channelActive(active);
    begin(active);
  }

  private void begin(ChannelHandlerContext active) {
    if (ready) {
      return;
    }
    ready = true;
    SslHandler tls = active.pipeline().get(SslHandler.class);
    secure = tls != null;
    Attributes.Builder known =
        Attributes.newBuilder()
            .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, active.channel().remoteAddress())
            .set(Grpc.TRANSPORT_ATTR_LOCAL_ADDR, active.channel().localAddress());
    if (tls != null) {
      SSLSession session = tls.engine().getSession();
      known.set(Grpc.TRANSPORT_ATTR_SSL_SESSION, session);
    }
    attributes = known.build();
    for (ServerTransportFilter filter : settings.filters()) {
      attributes = filter.transportReady(attributes);
    }
    server.opened(this);
    timers.start();
    widen(active);
  }

  /**
   * Lets a connection have as much on its way as a stream: it begins with 64 KiB, for which a
   * client that sends more would have to wait again and again.
   */
  private void widen(ChannelHandlerContext active) {
    Http2LocalFlowController window = connection().local().flowController();
    Http2Stream whole = connection().connectionStream();
    int more = settings.streamWindowBytes() - window.windowSize(whole);
    if (more > 0) {
      try {
        window.incrementWindowSize(whole, more);
        active.flush();
      } catch (Http2Exception e) {
        onError(active, true, e);
      }
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext inactive) throws Exception {
    timers.stop();
    super.channelInactive(inactive);
    if (ready) {
      ready = false;
      settings.filters().forEach(filter -> filter.transportTerminated(attributes));
      server.closed(this);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext read, Object message) throws Exception {
    reading = true;
    timers.heard();
    super.channelRead(read, message);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext read) throws Exception {
    reading = false;
    writeGathered(read);
    super.channelReadComplete(read); // which flushes
  }

  /** What a client does wrong, or its network, is its own business: nobody else is told. */
  @Override
  public void exceptionCaught(ChannelHandlerContext caught, Throwable cause) throws Exception {
    if (Http2CodecUtil.getEmbeddedHttp2Exception(cause) != null) {
      super.exceptionCaught(caught, cause);
      return;
    }
    if (cause instanceof IOException) {
      log.debug("connection of {} failed", caught.channel().remoteAddress(), cause);
    } else {
      log.error("connection of {} failed", caught.channel().remoteAddress(), cause);
    }
    caught.close();
  }

  /**
   * A failure that is neither the client's mistake nor its hanging up is ours, and must be heard
   * of.
   */
  @Override
  protected void onConnectionError(
      ChannelHandlerContext failed,
      boolean outbound,
      Throwable cause,
      @Nullable Http2Exception mistake) {
    if (mistake == null && !(cause instanceof IOException)) {
      log.error("connection of {} failed", failed.channel().remoteAddress(), cause);
    }
    super.onConnectionError(failed, outbound, cause, mistake);
  }

  // For calls and timers.

  ByteBufAllocator allocator() {
    return context().alloc();
  }

  HeaderCodec headers() {
    return settings.headers();
  }

  Attributes attributes() {
    return attributes;
  }

  boolean isSecure() {
    return secure;
  }

  int maxMessageBytes() {
    return settings.maxMessageBytes();
  }

  boolean inEventLoop() {
    return context().executor().inEventLoop();
  }

  ChannelHandlerContext context() {
    ChannelHandlerContext known = ctx;
    if (known == null) {
      throw new IllegalStateException("the connection is not part of a channel");
    }
    return known;
  }

  /** Has a task run on the event loop, after what it does now. */
  void later(Runnable task) {
    try {
      context().executor().execute(task);
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
    }
  }

  /**
   * Takes part of an answer; any thread. Parts are written in the order in which they are taken.
   */
  void send(Call.Outbound part) {
    outbound.add(part);
    if (inEventLoop() && reading) {
      return;
    }
    wake();
  }

  private void wake() {
    if (!writing.get() && writing.compareAndSet(false, true)) {
      try {
        context().executor().execute(this::writeAndFlush);
      } catch (RejectedExecutionException e) {
        dropGathered();
      }
    }
  }

  /** What is gathered while this writes goes out with it, and wakes nobody. */
  private void writeAndFlush() {
    ChannelHandlerContext to = context();
    try {
      if (writeGathered(to)) {
        flush(to);
      }
    } finally {
      writing.set(false);
    }
    if (!outbound.isEmpty()) {
      wake();
    }
  }

  private boolean writeGathered(ChannelHandlerContext to) {
    boolean any = false;
    for (Call.Outbound part = outbound.poll(); part != null; part = outbound.poll()) {
      part.call().write(to, part);
      any = true;
    }
    return any;
  }

  private void dropGathered() {
    for (Call.Outbound part = outbound.poll(); part != null; part = outbound.poll()) {
      part.drop();
    }
  }

  /** A message is about to be written; on the event loop. */
  void writing() {
    timers.writing();
  }

  /** A message has left, or never will. */
  void written() {
    messagesWritten++;
    timers.written();
  }

  /** Has what arrives on a stream go to a call; on the event loop. */
  void attach(Http2Stream stream, StreamHandler call) {
    stream.setProperty(callKey, call);
    timers.callBegan();
  }

  /** Ends a call in the place of its service; on the event loop. */
  void writeEnd(Call<?, ?> call, Http2Headers trailers) {
    call.writeEnd(context(), trailers);
    flushUnlessReading();
  }

  private void flushUnlessReading() {
    if (!reading) {
      flush(context());
    }
  }

  /** Has what was written leave with all that is written in this turn of the event loop. */
  void flushSoon() {
    if (!flushing) {
      flushing = true;
      context()
          .executor()
          .execute(
              () -> {
                flushing = false;
                flush(context());
              });
    }
  }

  /** Lets the client send as many bytes more to a stream. */
  void consume(Http2Stream stream, int bytes) {
    try {
      if (connection().local().flowController().consumeBytes(stream, bytes)) {
        flushUnlessReading();
      }
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
  }

  /** Tells a client whose call has been answered that the rest of its request is not needed. */
  void stopSending(Http2Stream stream) {
    if (stream.state().remoteSideOpen()) {
      resetStream(context(), stream.id(), Http2Error.NO_ERROR.code(), context().newPromise());
      flushUnlessReading();
    }
  }

  /** Ends a stream that we do not wish to go on with. */
  void reset(Http2Stream stream, Http2Error error) {
    resetStream(context(), stream.id(), error.code(), context().newPromise());
    flushUnlessReading();
  }

  /**
   * Less what was sent on a stream; together with what its client has allowed since it began, that
   * is what was sent.
   */
  long unusedWindow(Http2Stream stream) {
    Http2RemoteFlowController window = connection().remote().flowController();
    return (long) window.initialWindowSize() - window.windowSize(stream);
  }

  /** Ends calls whose messages have begun to arrive and do not get on; or the connection. */
  void endStalledArrivals(long nowNanos, long timeoutNanos) {
    FrameCutter cutter = context().pipeline().get(FrameCutter.class);
    if (cutter == null || !cutter.isWithin()) {
      frames.rest();
    } else if (frames.hasStalled(cutter.ends(), 0, nowNanos, timeoutNanos)) {
      settings.load().stalled();
      giveUp("a frame has stopped arriving");
      return;
    }
    forEachCall(call -> call.endIfArrivalStalled(nowNanos, timeoutNanos));
  }

  /** Gives up calls whose answers are not read; the connection, when its socket takes nothing. */
  void endStalledDepartures(long nowNanos, long timeoutNanos) {
    forEachCall(call -> call.endIfDepartureStalled(nowNanos, timeoutNanos));
    ChannelOutboundBuffer unsent = context().channel().unsafe().outboundBuffer();
    if (unsent == null || unsent.totalPendingWriteBytes() == 0) {
      socket.rest();
      return;
    }
    Http2Stream whole = connection().connectionStream();
    long sent = credit - connection().remote().flowController().windowSize(whole);
    if (socket.hasStalled(messagesWritten, sent, nowNanos, timeoutNanos)) {
      settings.load().stalled();
      context().channel().config().setOption(ChannelOption.SO_LINGER, 0); // or the system waits on
      giveUp("nothing is read");
    }
  }

  private void forEachCall(Predicate<StreamHandler> endIfStalled) {
    try {
      connection()
          .forEachActiveStream(
              stream -> {
                StreamHandler call = stream.getProperty(callKey);
                if (call != null && endIfStalled.test(call)) {
                  settings.load().stalled();
                }
                return true;
              });
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
  }

  /** Closes at once, and says why if that can be heard. */
  void giveUp(String reason) {
    goAway(connection().remote().lastStreamCreated(), Http2Error.ENHANCE_YOUR_CALM, reason);
    flush(context());
    closeNow();
  }

  // How a connection ends.

  /** Takes no more calls and closes when those under way have ended; any thread. */
  void drain(String reason) {
    later(() -> timers.drain(reason, Long.MAX_VALUE));
  }

  /** Ends all calls and closes; any thread. */
  void closeNow() {
    later(
        () -> {
          gracefulShutdownTimeoutMillis(0);
          context().channel().close();
        });
  }

  /** Closes when the last stream has ended. */
  void closeWhenIdle() {
    gracefulShutdownTimeoutMillis(-1);
    context().channel().close();
  }

  /** True when the client's settings have come, with which every conversation begins. */
  boolean isSpokenTo() {
    return spokenTo;
  }

  void goAway(int lastStreamId, Http2Error error, String reason) {
    ChannelHandlerContext to = context();
    goAway(
        to,
        lastStreamId,
        error.code(),
        ByteBufUtil.writeAscii(to.alloc(), reason),
        to.newPromise());
  }

  /** What a client's frames, and the state of its streams, mean for calls. */
  private final class Events extends Http2EventAdapter {
    @Override
    public void onHeadersRead(
        ChannelHandlerContext from,
        int streamId,
        Http2Headers headers,
        int streamDependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean endOfStream)
        throws Http2Exception {
      onHeadersRead(from, streamId, headers, padding, endOfStream);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext from,
        int streamId,
        Http2Headers headers,
        int padding,
        boolean endOfStream)
        throws Http2Exception {
      Http2Stream stream = connection().stream(streamId);
      if (stream == null) {
        return;
      }
      StreamHandler known = stream.getProperty(callKey);
      if (known == null) {
        opener.open(stream, headers, endOfStream);
      } else if (endOfStream) {
        known.endOfStream();
      }
    }

    @Override
    public int onDataRead(
        ChannelHandlerContext from, int streamId, ByteBuf data, int padding, boolean endOfStream) {
      Http2Stream stream = connection().stream(streamId);
      StreamHandler call = stream == null ? null : stream.getProperty(callKey);
      return call == null
          ? data.readableBytes() + padding
          : call.receive(data, padding, endOfStream);
    }

    @Override
    public void onStreamActive(Http2Stream stream) {
      server.callOpened();
    }

    @Override
    public void onStreamClosed(Http2Stream stream) {
      server.callClosed();
      StreamHandler call = stream.removeProperty(callKey);
      if (call != null) {
        call.streamClosed();
        timers.callEnded();
      }
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext from, Http2Settings theirs) {
      spokenTo = true;
    }

    @Override
    public void onWindowUpdateRead(ChannelHandlerContext from, int streamId, int bytes) {
      if (streamId == Http2CodecUtil.CONNECTION_STREAM_ID) {
        credit += bytes;
        return;
      }
      Http2Stream stream = connection().stream(streamId);
      StreamHandler call = stream == null ? null : stream.getProperty(callKey);
      if (call != null) {
        call.allowed(bytes);
      }
    }

    @Override
    public void onPingRead(ChannelHandlerContext from, long data) {
      timers.pinged();
    }

    @Override
    public void onPingAckRead(ChannelHandlerContext from, long data) {
      timers.pingAnswered(data);
    }
  }
}
