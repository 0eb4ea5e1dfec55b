package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import dev.roundhouse.transport.http2.PeerConnection;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.DefaultHttp2RemoteFlowController;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.UniformStreamByteDistributor;
import io.netty.util.AsciiString;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One event loop's connection to a server for forwarded calls. Calls opened before it is
 * established wait for it.
 */
final class UpstreamConnection extends PeerConnection {
  private static final Logger log = LoggerFactory.getLogger(UpstreamConnection.class);
  private static final float REFILL = 0.5f;

  /** Checks without a call after which it is closed: its server may be gone for good. */
  private static final int MOST_IDLE_LOOKS = 5;

  private static final Duration LOOK = Duration.ofMinutes(1);

  /** Limit of an answer's headers or trailers; servers are told, and calls beyond it end. */
  private static final int MOST_HEADER_BYTES = 256 << 10;

  /** In a row; a server may send some between two parts. */
  private static final int MOST_EMPTY_DATA_FRAMES = 64;

  /** Calls whose streams are not closed, including those waiting for a stream. */
  private final IntObjectMap<Exchange> exchanges = new IntObjectHashMap<>();

  private final List<Exchange> waiting = new ArrayList<>();
  private final int windowBytes;
  private final String name;
  private final AsciiString scheme;
  private final String authority;
  private final LeftCalls left;
  private boolean active;
  private int idleLooks;

  // Ending.
  private String end = "has closed the connection";
  private Fault fault = Fault.SERVERS;

  /** True when no further calls may be opened. */
  private boolean leaving;

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
    left = new LeftCalls(new OfLeft(), System::nanoTime);
    Events events = new Events();
    decoder.frameListener(events);
    connection().addListener(events);
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
      waiting.forEach(Exchange::begin);
      waiting.clear();
      flushSoon();
      lookLater();
    }
  }

  private void lookLater() {
    context().executor().schedule(this::closeIfIdle, LOOK.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void closeIfIdle() {
    if (!context().channel().isActive()) {
      return;
    }
    idleLooks = isUnused() ? idleLooks + 1 : 0;
    if (idleLooks > MOST_IDLE_LOOKS) {
      leaving = true;
      context().close();
    } else {
      lookLater();
    }
  }

  private boolean isUnused() {
    return exchanges.isEmpty() && left.size() == 0;
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
    List<Exchange> all = new ArrayList<>(exchanges.values());
    all.addAll(waiting);
    all.forEach(each -> each.end(ended(each.begun ? Seen.MAYBE : Seen.NO)));
  }

  /** Status of a call that ends with the connection. */
  private Status ended(Seen seen) {
    String text = name + " " + end;
    return Status.UNAVAILABLE.withDescription(text).withCause(new LostCall(text, seen, fault));
  }

  /** The connection failed. */
  void notConnected(Throwable cause) {
    leaving = true;
    Status status =
        Status.UNAVAILABLE
            .withDescription(name + " cannot be reached: " + cause.getMessage())
            .withCause(new ConnectException(cause.getMessage()));
    List<Exchange> all = new ArrayList<>(exchanges.values());
    all.addAll(waiting);
    exchanges.clear();
    waiting.clear();
    all.forEach(each -> each.end(status));
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
    Exchange exchange = exchanges.get(known.streamId());
    if (exchange != null) {
      exchange.end(
          Status.INTERNAL.withDescription(
              "what "
                  + name
                  + (outbound ? " is sent" : " has answered")
                  + " breaks HTTP/2 or a limit: "
                  + known.getMessage()));
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
    return !left.hasMostOf(client);
  }

  /**
   * Opens a call.
   *
   * @param client the caller
   */
  Exchange open(Answers answers, Object client, Http2Headers headers) {
    Exchange exchange = new Exchange(answers, client, headers);
    if (active) {
      exchange.begin();
    } else {
      waiting.add(exchange);
    }
    return exchange;
  }

  /** An answered call does not need the rest of its request. */
  private void stopSending(Object client, @Nullable Http2Stream answered) {
    if (answered != null && answered.state().localSideOpen()) {
      left.reset(answered.id(), client, Http2Error.NO_ERROR);
    }
  }

  /** Access to abandoned streams. */
  private final class OfLeft implements LeftCalls.Streams {
    @Override
    public void reset(int id, Http2Error error) {
      if (connection().stream(id) != null) {
        resetStream(context(), id, error.code(), context().newPromise());
        flushSoon();
      }
    }

    @Override
    public void later(Runnable task, long nanos) {
      context().executor().schedule(task, nanos, TimeUnit.NANOSECONDS);
    }
  }

  /** Told of a call's answer. On the event loop. */
  interface Answers {
    void onHeaders(Http2Headers headers);

    /**
     * @param data borrowed; {@link Exchange#window} controls what the server may send next
     * @param last whether the server sends no more of it
     */
    void onData(ByteBuf data, boolean last);

    /** The server has ended the call. */
    void onTrailers(Http2Headers trailers);

    /** The call has ended without a status from the server. */
    void onLost(Status status);
  }

  /** A call at the server. */
  final class Exchange {
    private final Answers answers;
    private final Object client;
    private final Http2Headers headers;
    private final List<Part> parts = new ArrayList<>(1);
    private int id;
    private boolean begun;
    private boolean endsLater;
    private boolean over;

    private record Part(HeldPart data, boolean last) {}

    Exchange(Answers answers, Object client, Http2Headers headers) {
      this.answers = answers;
      this.client = client;
      this.headers = headers;
    }

    private void begin() {
      if (over) {
        return;
      }
      begun = true;
      id = connection().local().incrementAndGetNextStreamId();
      if (id < 0) {
        leaving = true;
        end(unsent("the connection to " + name + " is used up", Seen.NO, Fault.NOBODYS));
        return;
      }
      exchanges.put(id, this);
      encoder()
          .writeHeaders(context(), id, headers, 0, false, context().newPromise())
          .addListener(
              sent -> {
                if (!sent.isSuccess()) {
                  end(notSent(sent.cause()));
                }
              });
      parts.forEach(part -> write(part.data, part.last));
      parts.clear();
      if (endsLater) {
        sendEnd();
      }
      flushSoon();
    }

    /** Status of a call whose headers were not sent. */
    private Status notSent(Throwable cause) {
      String text = "the call could not be sent to " + name + ": " + cause.getMessage();
      if (cause instanceof Http2Exception.HeaderListSizeException) {
        return Status.RESOURCE_EXHAUSTED.withDescription(text);
      }
      // HTTP/2 has refused it here: the server is going away, or the connection has ended before
      return unsent(text, cause instanceof Http2Exception ? Seen.NO : Seen.MAYBE, fault);
    }

    private static Status unsent(String text, Seen seen, Fault whose) {
      return Status.UNAVAILABLE.withDescription(text).withCause(new LostCall(text, seen, whose));
    }

    /**
     * Sends part of the request.
     *
     * @param part used until it has been sent, or never will be
     */
    void send(HeldPart part, boolean last) {
      if (over) {
        return;
      }
      if (begun) {
        write(part.retain(), last);
        flushSoon();
      } else {
        parts.add(new Part(part.retain(), last));
      }
    }

    /** Ends the request. */
    void sendEnd() {
      if (begun && !over) {
        encoder().writeData(context(), id, Unpooled.EMPTY_BUFFER, 0, true, context().newPromise());
        flushSoon();
      } else {
        endsLater = true;
      }
    }

    private void write(HeldPart part, boolean last) {
      ChannelPromise sent = context().newPromise();
      encoder().writeData(context(), id, part.data().retainedDuplicate(), 0, last, sent);
      sent.addListener(done -> part.left(part.bytes(), done.isSuccess()));
    }

    /** The window for the answer. */
    ForwardingWindow.Window window() {
      return new ForwardingWindow.Window() {
        @Override
        public int bytes() {
          Http2Stream stream = connection().stream(id);
          return stream == null ? 0 : UpstreamConnection.this.window(stream);
        }

        @Override
        public void open(int bytes) {
          Http2Stream stream = connection().stream(id);
          if (!over && stream != null) {
            UpstreamConnection.this.open(stream, bytes);
            flushSoon();
          }
        }
      };
    }

    /**
     * Ends the call because its client has, or another server answers it. A server ends a call by
     * itself when its deadline is near.
     *
     * @param leftNanos until then; {@link Long#MAX_VALUE} without one
     */
    void leave(long leftNanos) {
      if (over) {
        return;
      }
      finish();
      if (!begun || !active) {
        return;
      }
      if (connection().stream(id) == null) {
        forgetUnsent();
      } else if (leftNanos < LeftCalls.GRACE_NANOS) {
        left.letEnd(id, client);
      } else {
        left.reset(id, client, Http2Error.CANCEL);
      }
    }

    /** It waits for a stream beyond the server's limit: the server must not see it. */
    private void forgetUnsent() {
      if (id > connection().local().lastStreamCreated()) {
        encoder().writeRstStream(context(), id, Http2Error.CANCEL.code(), context().newPromise());
      }
    }

    private void end(Status status) {
      if (!over) {
        finish();
        answers.onLost(status);
      }
    }

    private void finish() {
      over = true;
      exchanges.remove(id);
      waiting.remove(this);
      parts.forEach(part -> part.data.release());
      parts.clear();
    }
  }

  private final class Events extends Http2EventAdapter {
    /** The last stream that a server going away will process. */
    private int lastSeenId = Integer.MAX_VALUE;

    @Override
    public void onHeadersRead(
        ChannelHandlerContext from,
        int streamId,
        Http2Headers headers,
        int streamDependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean endOfStream) {
      onHeadersRead(from, streamId, headers, padding, endOfStream);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext from,
        int streamId,
        Http2Headers headers,
        int padding,
        boolean endOfStream) {
      Exchange exchange = exchanges.get(streamId);
      if (exchange == null) {
        if (endOfStream && connection().stream(streamId).state().localSideOpen()) {
          left.answered(streamId);
        }
        return;
      }
      if (endOfStream) {
        exchange.finish();
        exchange.answers.onTrailers(headers);
        stopSending(exchange.client, connection().stream(streamId));
      } else {
        exchange.answers.onHeaders(headers);
      }
    }

    @Override
    public int onDataRead(
        ChannelHandlerContext from, int streamId, ByteBuf data, int padding, boolean endOfStream) {
      Exchange exchange = exchanges.get(streamId);
      if (exchange == null) {
        return data.readableBytes() + padding;
      }
      steer(connection().stream(streamId));
      exchange.answers.onData(data, endOfStream);
      if (endOfStream) {
        exchange.end(
            Status.INTERNAL.withDescription(name + " has ended an answer without a status"));
      }
      return data.readableBytes() + padding;
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext from, int streamId, long errorCode) {
      Exchange exchange = exchanges.get(streamId);
      if (exchange != null) {
        exchange.end(reset(errorCode));
      }
    }

    private Status reset(long code) {
      Http2Error error = Http2Error.valueOf(code);
      String text = "%s has reset the call: %s".formatted(name, error == null ? code : error);
      return error == Http2Error.REFUSED_STREAM
          ? Status.UNAVAILABLE
              .withDescription(text)
              .withCause(new LostCall(text, Seen.NO, Fault.NOBODYS)) // it is there, and has enough
          : Status.INTERNAL.withDescription(text);
    }

    /** Also called for streams that a server going away will not process. */
    @Override
    public void onStreamClosed(Http2Stream stream) {
      left.closed(stream.id());
      Exchange exchange = exchanges.get(stream.id());
      if (exchange != null) {
        exchange.end(ended(stream.id() > lastSeenId ? Seen.NO : Seen.MAYBE));
      }
    }

    /** A server is not at fault when it stops or complains of us, only when it is broken. */
    @Override
    public void onGoAwayReceived(int lastStreamId, long errorCode, ByteBuf debugData) {
      leaving = true;
      lastSeenId = lastStreamId;
      Http2Error error = Http2Error.valueOf(errorCode);
      ends(
          error == Http2Error.NO_ERROR
              ? "goes away"
              : "has ended the connection: " + (error == null ? errorCode : error),
          error != Http2Error.INTERNAL_ERROR);
      if (isUnused()) {
        context().close();
      }
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
      Http2Connection connection = new DefaultHttp2Connection(false);
      connection
          .remote()
          .flowController(
              new DefaultHttp2RemoteFlowController(
                  connection, new UniformStreamByteDistributor(connection)));
      connection
          .local()
          .flowController(new DefaultHttp2LocalFlowController(connection, REFILL, true));
      return connection(connection)
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
