package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection: makes calls of its streams, and writes what they answer. Answers of
 * other threads are gathered and written together, one wake-up of the event loop for all of them.
 */
public final class Connection extends PeerConnection {
  private static final Logger log = LoggerFactory.getLogger(Connection.class);

  /**
   * What may wait to be sent before the client's further frames do: answers wait for its windows,
   * but how calls end, and what HTTP/2 itself answers, does not.
   */
  private static final long MOST_UNSENT_BYTES = 128 << 10;

  /** Between looks for what does not get on, while others need room, and how long that may be. */
  private static final long PRESSED_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long PRESSED_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Of a header field besides its texts: two strings and their arrays, an entry, its place. */
  private static final int FIELD_BYTES = 128;

  private final Http2Server server;
  private final ServerSettings settings;
  private final ConnectionMemory memory;
  private final MemoryBudget messages;
  private final Http2Connection.PropertyKey callKey;

  /** Bytes that a stream is counted for. */
  private final Http2Connection.PropertyKey keptKey;

  private final Queue<Call.Outbound> outbound = PlatformDependent.newMpscQueue();
  private final AtomicBoolean writing = new AtomicBoolean();
  private final ConnectionTimers timers;
  private final CallOpener opener;
  private final StalledPeer stalls;
  private Attributes attributes = Attributes.EMPTY;
  private boolean secure;

  /** What was read is being handled: what is written meanwhile goes out after it. */
  private boolean reading;

  private boolean ready;
  private boolean spokenTo;

  /** What does not get on is looked for. */
  private boolean relieving;

  Connection(
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings initial,
      Http2Server server,
      ServerSettings settings,
      ConnectionMemory memory) {
    super(decoder, encoder, initial);
    this.server = server;
    this.settings = settings;
    this.memory = memory;
    messages = memory.of(Kept.MESSAGE);
    callKey = connection().newKey();
    keptKey = connection().newKey();
    timers =
        new ConnectionTimers(
            this,
            settings.keepAlive(),
            settings.handshakeNanos(),
            settings.stalledNanos(),
            settings.unreadNanos());
    stalls = new StalledPeer(this, settings.load());
    opener = new CallOpener(this, server, settings);
    Events events = new Events();
    decoder.frameListener(events);
    connection().addListener(events);
  }

  @Override
  protected void begin(ChannelHandlerContext active) {
    if (ready) {
      return;
    }
    ready = true;
    SslHandler tls = active.pipeline().get(SslHandler.class);
    secure = tls != null;
    Attributes.Builder known =
        Attributes.newBuilder()
            .set(ConnectionMemory.KEY, memory)
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
    widen(settings.streamWindowBytes());
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
    readWhileItReads(read);
  }

  /** A client that does not read what it is told is not listened to. */
  private void readWhileItReads(ChannelHandlerContext of) {
    Channel channel = of.channel();
    if (channel.bytesBeforeWritable() > MOST_UNSENT_BYTES) {
      channel.config().setAutoRead(false);
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext changed) throws Exception {
    Channel channel = changed.channel();
    if (channel.isWritable() && !channel.config().isAutoRead()) {
      channel.config().setAutoRead(true);
    }
    super.channelWritabilityChanged(changed);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext read) throws Exception {
    reading = false;
    writeGathered(read);
    super.channelReadComplete(read); // which flushes
    readWhileItReads(read);
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

  public HeaderCodec headers() {
    return settings.headers();
  }

  Attributes attributes() {
    return attributes;
  }

  boolean isSecure() {
    return secure;
  }

  /** What a client may send to a stream before it hears that it was read. */
  public int windowBytes() {
    return settings.streamWindowBytes();
  }

  public int maxMessageBytes() {
    return settings.maxMessageBytes();
  }

  boolean inEventLoop() {
    return context().executor().inEventLoop();
  }

  /**
   * Has a task run on the event loop, after what it does now; false when the server has stopped.
   */
  boolean later(Runnable task) {
    try {
      context().executor().execute(task);
      return true;
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
      return false;
    }
  }

  // What the connection keeps.

  public ConnectionMemory memory() {
    return memory;
  }

  /** Where messages are counted while they arrive and wait. */
  MemoryBudget messages() {
    return messages;
  }

  /** Has something uncompressed where it holds up nobody; false when the server has stopped. */
  boolean inflate(FairTurns.Job job) {
    return settings.inflating().submit(memory.peer(), job);
  }

  /** What header fields take, as they are kept. */
  static long bytes(Http2Headers headers) {
    long bytes = 0;
    for (Map.Entry<CharSequence, CharSequence> field : headers) {
      bytes += FIELD_BYTES + 2L * (field.getKey().length() + field.getValue().length());
    }
    return bytes;
  }

  /**
   * Counts how a call ends, until the client has been told.
   *
   * @return for {@link #endLeft}
   */
  long keepEnd(Http2Headers trailers) {
    long bytes = HeaderCodec.isShared(trailers) ? 0 : bytes(trailers);
    if (bytes > 0) {
      memory.add(Kept.REFUSAL, bytes);
    }
    return bytes;
  }

  void endLeft(long bytes) {
    if (bytes > 0) {
      memory.giveBack(Kept.REFUSAL, bytes);
    }
  }

  /** Others need room: for as long as they do, ends what does not get on. On the event loop. */
  void relieve() {
    if (!relieving && ready) {
      relieving = true;
      lookForStalls();
    }
  }

  private void lookForStalls() {
    if (!ready || !memory.isPressed()) {
      relieving = false;
      return;
    }
    long now = System.nanoTime();
    stalls.endIdle(now, PRESSED_NANOS);
    stalls.endArrivals(now, PRESSED_NANOS);
    stalls.endDepartures(now, PRESSED_NANOS);
    timers.endIfUnused(now, PRESSED_NANOS);
    flushUnlessReading();
    var unused =
        context()
            .executor()
            .schedule(this::lookForStalls, PRESSED_LOOK_NANOS, TimeUnit.NANOSECONDS);
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
  public void writing() {
    timers.writing();
  }

  /** A message has left, or never will. */
  public void written() {
    stalls.written();
    timers.written();
  }

  /**
   * Counts a call until its stream is closed; on the event loop.
   *
   * @return null when it is counted; otherwise why not
   */
  @Nullable String keep(Http2Stream stream, long bytes) {
    String refusal = memory.take(Kept.CALL, bytes);
    if (refusal == null) {
      stream.setProperty(keptKey, bytes);
    }
    return refusal;
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

  /** Lets the client send more to a stream that is steered. */
  public void openWindow(Http2Stream stream, int bytes) {
    open(stream, bytes);
    flushUnlessReading();
  }

  /** Tells a client whose call has been answered that the rest of its request is not needed. */
  public void stopSending(Http2Stream stream) {
    if (stream.state().remoteSideOpen()) {
      resetStream(context(), stream.id(), Http2Error.NO_ERROR.code(), context().newPromise());
      flushUnlessReading();
    }
  }

  /** Ends a stream that we do not wish to go on with. */
  public void reset(Http2Stream stream, Http2Error error) {
    resetStream(context(), stream.id(), error.code(), context().newPromise());
    flushUnlessReading();
  }

  /** What was sent on a stream, less what its client has allowed by WINDOW_UPDATE. */
  public long sentLessCredit(Http2Stream stream) {
    Http2RemoteFlowController window = connection().remote().flowController();
    return (long) window.initialWindowSize() - window.windowSize(stream);
  }

  /** Shows all calls to an action, which may end them. */
  void forEachCall(Consumer<StreamHandler> action) {
    try {
      connection()
          .forEachActiveStream(
              stream -> {
                StreamHandler call = stream.getProperty(callKey);
                if (call != null) {
                  action.accept(call);
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

  /** Who ends what the client does not go on with. */
  StalledPeer stalls() {
    return stalls;
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
      Long kept = stream.removeProperty(keptKey);
      if (kept != null) {
        memory.giveBack(Kept.CALL, kept);
      }
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext from, Http2Settings theirs) {
      spokenTo = true;
    }

    @Override
    public void onWindowUpdateRead(ChannelHandlerContext from, int streamId, int bytes) {
      if (streamId == Http2CodecUtil.CONNECTION_STREAM_ID) {
        stalls.allowed(bytes);
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
