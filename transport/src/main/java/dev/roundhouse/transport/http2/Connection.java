package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client's connection: how it begins and ends, how much of what its client sends is read, and
 * what all its streams share. {@link ServerStreams} makes streams of its frames.
 */
final class Connection extends PeerConnection implements ConnectionTimers.Owner {
  private static final Logger log = LoggerFactory.getLogger(Connection.class);

  /**
   * Unsent bytes beyond which no more frames of the client are read: answers wait for its windows,
   * but ends of calls and HTTP/2's own answers do not.
   */
  private static final long MOST_UNSENT_BYTES = 128 << 10;

  private final Server server;
  private final ServerSettings settings;
  private final ConnectionMemory memory;
  private final MemoryBudget messages;
  private final ServerStreams streams;
  private final GatheredWrites writes = new GatheredWrites(this);
  private final ConnectionTimers timers;
  private Attributes attributes = Attributes.EMPTY;
  private boolean secure;

  private boolean ready;

  /** The connection's server. Called on the connection's event loop. */
  interface Server {
    void opened(Connection connection);

    void closed(Connection connection);

    /** A client has opened a stream. */
    void streamOpened();

    void streamClosed();

    /** Makes a call of a stream, or refuses it. */
    void open(ServerStream stream, Http2Headers headers, boolean endOfStream);
  }

  Connection(
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings initial,
      Server server,
      ServerSettings settings,
      ConnectionMemory memory) {
    super(decoder, encoder, initial);
    this.server = server;
    this.settings = settings;
    this.memory = memory;
    messages = memory.of(Kept.MESSAGE);
    StalledPeer stalls = new StalledPeer(this, settings.load());
    timers = new ConnectionTimers(this, stalls, settings.keepAlive(), settings.times());
    streams = new ServerStreams(this, server, timers);
    decoder.frameListener(streams);
    connection().addListener(streams);
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
    widen(settings.limits().streamWindowBytes());
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
    writes.reading();
    timers.heard();
    super.channelRead(read, message);
    readWhileItReads(read);
  }

  /** Stops reading from a client that does not read. */
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
    writes.readComplete();
    super.channelReadComplete(read); // which flushes
    readWhileItReads(read);
  }

  /** A client's or its network's errors concern only that client. */
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
   * A failure that is neither the client's mistake nor its hanging up is ours, and must be
   * reported.
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

  // For timers.

  @Override
  public Channel channel() {
    return context().channel();
  }

  @Override
  public boolean isPressed() {
    return memory.isPressed();
  }

  @Override
  public int sendWindow() {
    return connection().remote().flowController().windowSize(connection().connectionStream());
  }

  @Override
  public void ping(long data) {
    ChannelHandlerContext to = context();
    encoder().writePing(to, false, data, to.newPromise());
    flush(to);
  }

  // For calls.

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

  int windowBytes() {
    return settings.limits().streamWindowBytes();
  }

  int maxMessageBytes() {
    return settings.limits().maxMessageBytes();
  }

  boolean inEventLoop() {
    return context().executor().inEventLoop();
  }

  /** Runs a task on the event loop after the current one; false when the server has stopped. */
  boolean later(Runnable task) {
    try {
      context().executor().execute(task);
      return true;
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
      return false;
    }
  }

  // Memory of the connection.

  ConnectionMemory memory() {
    return memory;
  }

  /** Counts messages while they arrive and wait. */
  MemoryBudget messages() {
    return messages;
  }

  /** Decompresses something where it delays no one; false when the server has stopped. */
  boolean inflate(FairTurns.Job job) {
    return settings.inflating().submit(memory.peer(), job);
  }

  /** While others need room, ends what makes no progress. On the event loop. */
  void relieve() {
    timers.relieve();
  }

  /** Takes part of an answer; any thread. */
  void send(GatheredWrites.Part part) {
    writes.send(part);
  }

  @Override
  public void flushUnlessReading() {
    writes.flushUnlessReading();
  }

  /** A message is about to be written; on the event loop. */
  void writing() {
    timers.writing();
  }

  /** A message has been sent, or never will be. */
  void written() {
    timers.written();
  }

  void callBegan() {
    timers.callBegan();
  }

  void callEnded() {
    timers.callEnded();
  }

  @Override
  public void forEachStream(Consumer<ServerStream> action) {
    try {
      streams.forEach(action);
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
  }

  @Override
  public void giveUp(String reason) {
    goAway(connection().remote().lastStreamCreated(), Http2Error.ENHANCE_YOUR_CALM, reason);
    flush(context());
    closeNow();
  }

  // The end of a connection.

  /** Takes no more calls and closes when the current ones have ended; any thread. */
  void drain(String reason) {
    later(() -> timers.drain(reason, Long.MAX_VALUE));
  }

  /** Any thread. */
  @Override
  public void closeNow() {
    later(
        () -> {
          gracefulShutdownTimeoutMillis(0);
          channel().close();
        });
  }

  @Override
  public void announceEnd(String reason) {
    goAway(Integer.MAX_VALUE, Http2Error.NO_ERROR, reason);
  }

  @Override
  public void endAfterCalls() {
    goAway(connection().remote().lastStreamCreated(), Http2Error.NO_ERROR, "");
    gracefulShutdownTimeoutMillis(-1);
    channel().close();
  }

  private void goAway(int lastStreamId, Http2Error error, String reason) {
    ChannelHandlerContext to = context();
    goAway(
        to,
        lastStreamId,
        error.code(),
        ByteBufUtil.writeAscii(to.alloc(), reason),
        to.newPromise());
  }
}
