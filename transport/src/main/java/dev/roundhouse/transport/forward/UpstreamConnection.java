package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import dev.roundhouse.transport.http2.PeerConnection;
import io.grpc.Status;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.epoll.EpollTcpInfo;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One event loop's connection to a server for forwarded calls: how it begins, why it ends, and
 * whether it takes calls. {@link UpstreamStreams} has the calls.
 */
final class UpstreamConnection extends PeerConnection {
  private static final Logger log = LoggerFactory.getLogger(UpstreamConnection.class);

  /** Checks without a call after which it is closed: its server may be gone for good. */
  private static final int MOST_IDLE_LOOKS = 5;

  private static final Duration LOOK = Duration.ofMinutes(1);

  /** Of the same bytes, none of which was acknowledged: at least 0.6 s. */
  private static final int SILENT_RETRANSMITS = 2;

  private static final long SILENCE_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Limit of an answer's headers or trailers; servers are told, and calls beyond it end. */
  private static final int MOST_HEADER_BYTES = 256 << 10;

  private final UpstreamStreams streams = new UpstreamStreams(this);
  private final int windowBytes;
  private final String name;
  private final AsciiString scheme;
  private final String authority;
  private Runnable established = () -> {};
  private boolean active;
  private int idleLooks;

  // What the kernel knows of the server's.
  private final EpollTcpInfo kernel = new EpollTcpInfo();
  private boolean silent;
  private long silenceLookNanos;

  // Ending.
  private String end = "has closed the connection";
  private Fault fault = Fault.SERVERS;

  /** True when no further calls may be opened. */
  private boolean leaving;

  /** Another connection has taken its place. */
  private boolean retired;

  private UpstreamConnection(
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings initial,
      Builder with) {
    super(decoder, encoder, initial);
    windowBytes = with.windowBytes;
    name = with.name;
    scheme = with.scheme;
    authority = with.authority;
    decoder.frameListener(streams);
    connection().addListener(streams);
  }

  /**
   * @param name of the server: {@code host:port}
   * @param authority sent to it
   * @param windowBytes that it may send of all answers unacknowledged
   */
  static UpstreamConnection to(String name, String scheme, String authority, int windowBytes) {
    return new Builder(name, scheme, authority, windowBytes).make();
  }

  @Override
  protected void begin(ChannelHandlerContext now) {
    if (!active) {
      active = true;
      widen(windowBytes);
      streams.begin();
      silenceLookNanos = System.nanoTime();
      flushSoon();
      lookLater();
      established.run();
    }
  }

  /**
   * @param then run on the event loop; if there never is a connection, never
   */
  void whenEstablished(Runnable then) {
    established = then;
  }

  private void lookLater() {
    context().executor().schedule(this::closeIfIdle, LOOK.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void closeIfIdle() {
    if (!context().channel().isActive()) {
      return;
    }
    idleLooks = streams.isEmpty() ? idleLooks + 1 : 0;
    if (idleLooks > (leaving ? 0 : MOST_IDLE_LOOKS)) {
      leaving = true;
      context().close();
    } else {
      lookLater();
    }
  }

  /** The server, in texts. */
  String name() {
    return name;
  }

  /** The server's {@code host:port}. */
  String authority() {
    return authority;
  }

  /** The scheme of requests. */
  AsciiString scheme() {
    return scheme;
  }

  @Override
  public void channelInactive(ChannelHandlerContext gone) throws Exception {
    leaving = true;
    super.channelInactive(gone); // ends the calls whose streams are open
    streams.endAll(call -> ended(call.isBegun() ? Seen.MAYBE : Seen.NO));
  }

  /** Status of a call that ends with the connection. */
  Status ended(Seen seen) {
    return LostCall.status(name + " " + end, seen, fault());
  }

  /** Whose fault the end is. */
  Fault fault() {
    return retired ? Fault.NOBODYS : fault; // the server may be well, and its new calls tell that
  }

  /** Takes no more calls. */
  void leave() {
    leaving = true;
  }

  /** Another connection takes the further calls; this one is closed when it has no more. */
  void retire() {
    leaving = true;
    retired = true;
    if (streams.isEmpty()) {
      context().close();
    }
  }

  /** True when the server's kernel acknowledges nothing; a process that hangs is not silent. */
  boolean isSilent() {
    long now = System.nanoTime();
    if (active && now - silenceLookNanos >= SILENCE_LOOK_NANOS) {
      silenceLookNanos = now;
      silent = retransmits() >= SILENT_RETRANSMITS;
    }
    return silent;
  }

  private int retransmits() {
    if (!(context().channel() instanceof EpollSocketChannel socket) || !socket.isActive()) {
      return 0;
    }
    try {
      socket.tcpInfo(kernel);
      return kernel.retransmits();
    } catch (ChannelException e) {
      return 0; // it is about to close
    }
  }

  /** The connection failed. */
  void notConnected(Throwable cause) {
    leaving = true;
    Status status =
        Status.UNAVAILABLE
            .withDescription(name + " cannot be reached: " + cause.getMessage())
            .withCause(new ConnectException(cause.getMessage()));
    streams.endAll(call -> status);
  }

  /**
   * A protocol error. What the server sends wrongly is its fault; exceeding a limit of ours, or our
   * own error, is not.
   */
  @Override
  protected void onConnectionError(
      ChannelHandlerContext from,
      boolean outbound,
      Throwable cause,
      @Nullable Http2Exception known) {
    leaving = true;
    Http2Error error = known == null ? Http2Error.INTERNAL_ERROR : known.error();
    boolean isOurs =
        outbound || error == Http2Error.ENHANCE_YOUR_CALM || error == Http2Error.INTERNAL_ERROR;
    ends("is not spoken to any more: " + cause.getMessage(), isOurs);
    if (isOurs) {
      log.warn("the connection to {} is closed by this side: {}", name, cause.getMessage());
    }
    super.onConnectionError(from, outbound, cause, known);
  }

  /** An answer is invalid; other calls of the connection go on. */
  @Override
  protected void onStreamError(
      ChannelHandlerContext from,
      boolean outbound,
      Throwable cause,
      Http2Exception.StreamException known) {
    if (outbound && known.error() == Http2Error.STREAM_CLOSED) {
      streams.lost(known.streamId()); // Netty tells first that something was still to be sent
    } else {
      String which = outbound ? " is sent" : " has answered";
      streams.end(
          known.streamId(),
          Status.INTERNAL.withDescription(
              "what " + name + which + " breaks HTTP/2 or a limit: " + known.getMessage()));
    }
    super.onStreamError(from, outbound, cause, known);
  }

  /** Records why the connection ends. */
  private void ends(String how, boolean isOurs) {
    end = how;
    fault = isOurs ? Fault.NOBODYS : Fault.SERVERS;
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext caught, Throwable cause) throws Exception {
    if (Http2CodecUtil.getEmbeddedHttp2Exception(cause) == null && fault == Fault.SERVERS) {
      ends("is lost: " + cause.getMessage(), !(cause instanceof IOException));
    }
    if (Http2CodecUtil.getEmbeddedHttp2Exception(cause) != null) {
      super.exceptionCaught(caught, cause);
    } else if (cause instanceof IOException) {
      log.debug("connection to {} failed", name, cause);
    } else {
      log.error("connection to {} failed", name, cause);
    }
    caught.close();
  }

  /** False when calls must be opened on another connection. */
  boolean takesCalls() {
    return !leaving;
  }

  /** False when a client may have no further calls here: too many that it left have not ended. */
  boolean takesCallsOf(Object client) {
    return !streams.hasMostOf(client);
  }

  /**
   * Opens a call.
   *
   * @param client the caller
   */
  UpstreamStream open(UpstreamStream.Answers answers, Object client, Http2Headers headers) {
    return streams.open(answers, client, headers);
  }

  /** A server is not at fault when it stops or complains of us, only when it is broken. */
  void goesAway(long errorCode) {
    leaving = true;
    Http2Error error = Http2Error.valueOf(errorCode);
    ends(
        error == Http2Error.NO_ERROR
            ? "goes away"
            : "has ended the connection: " + (error == null ? errorCode : error),
        error != Http2Error.INTERNAL_ERROR);
    if (streams.isEmpty()) {
      context().close();
    }
  }

  private static final class Builder
      extends AbstractHttp2ConnectionHandlerBuilder<UpstreamConnection, Builder> {
    private final String name;
    private final AsciiString scheme;
    private final String authority;
    private final int windowBytes;

    Builder(String name, String scheme, String authority, int windowBytes) {
      this.name = name;
      this.scheme = AsciiString.cached(scheme);
      this.authority = authority;
      this.windowBytes = windowBytes;
    }

    /**
     * Netty takes any builder given a connection for a server's, and would end this one with
     * ENHANCE_YOUR_CALM after 200 resets in 30 s, sent or received, with all its calls. Neither is
     * limited here: {@link ResetBudget} paces those sent, and each one received ends a call that we
     * have opened.
     */
    UpstreamConnection make() {
      return connection(fairConnection(false))
          .initialSettings(
              new Http2Settings()
                  .pushEnabled(false)
                  .maxHeaderListSize(MOST_HEADER_BYTES)
                  .initialWindowSize(ForwardingWindow.firstBytes(windowBytes)))
          .encoderEnforceMaxRstFramesPerWindow(0, 0)
          .decoderEnforceMaxRstFramesPerWindow(0, 0)
          .decoderEnforceMaxConsecutiveEmptyDataFrames(MOST_EMPTY_DATA_FRAMES)
          .encoderEnforceMaxConcurrentStreams(true) // calls beyond the server's limit wait
          .build();
    }

    @Override
    protected UpstreamConnection build(
        Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings initial) {
      return new UpstreamConnection(decoder, encoder, initial, this);
    }
  }
}
