package dev.roundhouse.grpc;

import dev.roundhouse.grpc.CallRouter.Route;
import dev.roundhouse.grpc.HeldMemory.Use;
import io.grpc.Decompressor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.AsciiString;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A call that is sent on to another server, frame by frame: large parts are not copied, and a side
 * may send more when the other has taken what it sent. A server that cannot answer is followed by
 * another, as long as nothing of an answer has been passed on and the request is still here; one
 * that takes long may be joined by a second, and whichever answers first answers the call. On the
 * event loop of the client's connection.
 */
final class ForwardedCall implements StreamHandler {
  private static final Logger log = LoggerFactory.getLogger(ForwardedCall.class);

  /** How much of a request is kept to be sent once more. */
  private static final int MOST_KEPT_BYTES = 4 << 20;

  private static final int PREFIX_BYTES = 5;
  private static final AsciiString TIMEOUT = AsciiString.cached("grpc-timeout");
  private static final AsciiString STATUS = AsciiString.cached("grpc-status");
  private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");
  private static final String ENCODING = "grpc-encoding";

  private final Connection client;
  private final Http2Stream stream;
  private final String method;
  private final Http2Headers request;
  private final CallRouter router;
  private final UpstreamPool servers;
  private final HeldMemory memory;
  private final MessageBounds bounds;
  private final Passage requests;
  private final long endNanos;
  private final @Nullable ScheduledFuture<?> alarm;

  /** What has come of the request, as long as it may have to be sent again. */
  private final List<HeldPart> kept = new ArrayList<>(2);

  private int keptBytes;
  private boolean keeps = true;

  private boolean halfClosed;
  private final boolean asksOnce;
  private final StreamProgress progress = new StreamProgress();

  /** The server that is asked; once an answer is passed on, the one whose answer it is. */
  private @Nullable Attempt asked;

  /** A second one that is asked as well. */
  private @Nullable Attempt hedge;

  private @Nullable ScheduledFuture<?> hedgeAlarm;

  /** When all of the request was here. */
  private long wholeNanos;

  private boolean compressed;

  /** Of the answer, once it comes. */
  private @Nullable Passage answer;

  private boolean answered;

  /** The server has ended the call, or is not asked any more; parts of its answer may be here. */
  private boolean over;

  /** The client's stream is closed. */
  private boolean closed;

  ForwardedCall(
      Connection client,
      Http2Stream stream,
      String method,
      Http2Headers request,
      long timeoutNanos,
      ServerSettings.Forwarding forwarding) {
    this.client = client;
    this.stream = stream;
    this.method = method;
    this.request = request;
    router = forwarding.router();
    asksOnce = router.asksOnce(method);
    servers = forwarding.servers();
    memory = forwarding.memory();
    bounds = new MessageBounds(client.maxMessageBytes());
    requests =
        new Passage(memory, bounds, client.windowBytes(), asksOnce, new FromClient(), loop());
    endNanos = timeoutNanos == Long.MAX_VALUE ? timeoutNanos : System.nanoTime() + timeoutNanos;
    alarm =
        timeoutNanos == Long.MAX_VALUE
            ? null
            : loop().schedule(this::late, Math.max(0, timeoutNanos), TimeUnit.NANOSECONDS);
  }

  private EventLoop loop() {
    return client.context().channel().eventLoop();
  }

  // The request.

  @Override
  public int receive(ByteBuf data, int padding, boolean endOfStream) {
    int bytes = data.readableBytes() + padding;
    if (over) {
      return bytes;
    }
    client.steer(stream);
    halfClosed |= endOfStream;
    int before = requests.messages();
    HeldPart part;
    try {
      part = requests.arrived(data, asked == null);
    } catch (StatusException e) {
      end(e.getStatus());
      return bytes;
    }
    if (endOfStream) {
      requests.close();
    }
    progress.completed(requests.messages() - before);
    progress.arrived(data.readableBytes());
    Attempt to = asked;
    if (to != null) {
      to.send(part, endOfStream);
    }
    keep(part);
    if (to == null) {
      choose();
    } else {
      hedgeLater();
    }
    return bytes;
  }

  @Override
  public void endOfStream() {
    if (over) {
      return;
    }
    halfClosed = true;
    requests.close();
    Attempt to = asked;
    if (to != null) {
      to.sendEnd();
      hedgeLater();
    } else {
      choose();
    }
  }

  /**
   * Keeps part of the request for another server, if there is to be one.
   *
   * @param part one of its users is this
   */
  private void keep(HeldPart part) {
    keptBytes += part.bytes();
    boolean room = keptBytes <= MOST_KEPT_BYTES && memory.hasRoom(Use.KEEP);
    if (keeps && (asked == null || room)) {
      kept.add(part);
    } else {
      part.release();
      forget();
    }
  }

  /** The request cannot be sent again from here on. */
  private void forget() {
    keeps = false;
    kept.forEach(HeldPart::release);
    kept.clear();
  }

  /** Finds a server by what has come. */
  private void choose() {
    // empty ones would be released, and are not this method's to release
    ByteBuf have =
        Unpooled.wrappedBuffer(
            kept.stream().map(HeldPart::data).filter(ByteBuf::isReadable).toArray(ByteBuf[]::new));
    if (have.readableBytes() < PREFIX_BYTES) {
      if (halfClosed) {
        end(Status.INVALID_ARGUMENT.withDescription("the call ended without a message"));
      }
      return;
    }
    compressed = have.getByte(have.readerIndex()) != 0;
    long length = have.getUnsignedInt(have.readerIndex() + 1);
    int arrived = (int) Math.min(length, have.readableBytes() - PREFIX_BYTES);
    try {
      ByteBuf message = have.slice(have.readerIndex() + PREFIX_BYTES, arrived);
      ByteBuffer shown = compressed ? uncompressed(message) : FirstMessage.view(message);
      boolean more =
          arrived < length && shown.remaining() < FirstMessage.MOST_SHOWN_BYTES && !halfClosed;
      Route found = router.route(method, shown, more);
      if (found != null) {
        begin(found);
      } else if (!more) {
        end(Status.INVALID_ARGUMENT.withDescription("the message does not say where it is to go"));
      }
    } catch (StatusException e) {
      end(e.getStatus());
    } catch (StatusRuntimeException e) {
      end(e.getStatus());
    } catch (Throwable e) {
      log.error("{} cannot be sent on", method, e);
      end(Status.INTERNAL.withDescription("the call cannot be sent on"));
    }
  }

  private ByteBuffer uncompressed(ByteBuf message) throws StatusException {
    Decompressor with = client.headers().decompressor(HeaderCodec.only(ENCODING, request));
    return FirstMessage.uncompressed(message, with);
  }

  /** Sends what is here to a server, and from then on what comes. */
  private void begin(Route to) {
    Attempt attempt = new Attempt(to);
    asked = attempt;
    if (leftNanos() <= 0) {
      late();
      return;
    }
    attempt.open();
    hedgeLater();
  }

  private long leftNanos() {
    return endNanos == Long.MAX_VALUE ? endNanos : endNanos - System.nanoTime();
  }

  // A second server.

  /** Has a second server be asked if the first takes long, once all of the request is here. */
  private void hedgeLater() {
    Attempt first = asked;
    if (over || !halfClosed || first == null || wholeNanos != 0) {
      return;
    }
    wholeNanos = System.nanoTime();
    long after = first.route.hedgeAfterNanos();
    if (after != Route.NEVER) {
      hedgeAlarm = loop().schedule(this::hedge, after, TimeUnit.NANOSECONDS);
    }
  }

  private void hedge() {
    Attempt first = asked;
    if (over || answered || first == null || first.begin != null) {
      return;
    }
    if (!keeps || compressed || memory.isCrowded() || leftNanos() <= 0) {
      return;
    }
    try (InputStream message = FirstMessage.stream(kept)) {
      Route second = first.route.hedge(message);
      if (second != null) {
        Attempt also = new Attempt(second);
        hedge = also;
        also.open();
      }
    } catch (Throwable e) {
      log.error("{} cannot be sent to a second server", method, e); // the first may still answer
    }
  }

  private Http2Headers headers(UpstreamConnection to, long leftNanos) {
    Http2Headers headers = new DefaultHttp2Headers(false, request.size() + 1);
    headers
        .method(request.method())
        .scheme(to.scheme())
        .authority(to.authority())
        .path(request.path());
    for (Map.Entry<CharSequence, CharSequence> field : request) {
      CharSequence name = field.getKey();
      if (name.length() > 0 && name.charAt(0) != ':' && !TIMEOUT.contentEquals(name)) {
        headers.add(name, field.getValue());
      }
    }
    if (leftNanos != Long.MAX_VALUE) {
      headers.set(TIMEOUT, GrpcTimeout.text(leftNanos));
    }
    return headers;
  }

  private final class FromClient implements Passage.Window {
    @Override
    public int bytes() {
      return client.window(stream);
    }

    @Override
    public void open(int bytes) {
      client.openWindow(stream, bytes);
    }
  }

  /** What the server does not take is no fault of the client's. */
  @Override
  public boolean endIfArrivalStalled(long nowNanos, long timeoutNanos) {
    boolean awaited = bounds.isWithinMessage() || (asksOnce && !halfClosed);
    awaited &= !over && (asked == null || !requests.holdsUp());
    if (!progress.hasArrivalStalled(awaited, nowNanos, timeoutNanos)) {
      return false;
    }
    end(
        Status.DEADLINE_EXCEEDED.withDescription(
            "a message has stopped arriving: " + bounds.progress()));
    return true;
  }

  @Override
  public boolean endIfDepartureStalled(long nowNanos, long timeoutNanos) {
    if (closed) {
      return false;
    }
    long sent = client.sentLessCredit(stream);
    if (!progress.hasDepartureStalled(sent, nowNanos, timeoutNanos)) {
      return false;
    }
    giveUp(Status.CANCELLED.withDescription("the client does not read the answer"));
    client.reset(stream, Http2Error.ENHANCE_YOUR_CALM);
    return true;
  }

  @Override
  public void allowed(int bytes) {
    progress.allowed(bytes);
  }

  // The answer.

  /** A server that is asked, and what it says. */
  private final class Attempt implements UpstreamConnection.Answers {
    private final Route route;
    private UpstreamConnection.@Nullable Exchange exchange;

    /** What its answer begins with, until more of it comes. */
    private @Nullable Http2Headers begin;

    Attempt(Route route) {
      this.route = route;
    }

    /** Sends what is here of the request. */
    void open() {
      UpstreamConnection connection = servers.connection(loop(), route.address());
      UpstreamConnection.Exchange opened = connection.open(this, headers(connection, leftNanos()));
      exchange = opened;
      for (int i = 0; i < kept.size(); i++) {
        opened.send(kept.get(i), halfClosed && i == kept.size() - 1);
      }
    }

    void send(HeldPart part, boolean last) {
      if (exchange != null) {
        exchange.send(part, last);
      }
    }

    void sendEnd() {
      if (exchange != null) {
        exchange.sendEnd();
      }
    }

    void cancel() {
      if (exchange != null) {
        exchange.cancel();
      }
    }

    @Override
    public void onHeaders(Http2Headers headers) {
      begin = headers;
    }

    @Override
    public void onData(ByteBuf data, boolean last) {
      UpstreamConnection.Exchange from = exchange;
      if (over || from == null) {
        return;
      }
      win(this);
      pass(from, data, last);
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
      Status status = status(trailers);
      String keepsCall = router.keepsCall();
      boolean mine = !keepsCall.isEmpty() && trailers.contains(keepsCall);
      if (over || (!mine && goesOnWithout(this, status, isOfTheServer(status)))) {
        return;
      }
      win(this);
      passBegin(this);
      finish(status);
      write(trailers);
    }

    @Override
    public void onLost(Status status) {
      if (!over && !goesOnWithout(this, status, true)) {
        end(status);
      }
    }
  }

  /** The call is answered by this server, whoever else was asked. */
  private void win(Attempt winner) {
    stopHedging();
    Attempt loser = winner == asked ? hedge : asked;
    asked = winner;
    hedge = null;
    if (loser != null && loser != winner) {
      giveWay(loser, Status.CANCELLED.withDescription("another server has answered first"));
      loser.cancel();
    }
  }

  private void giveWay(Attempt loser, Status status) {
    try {
      loser.route.gaveWay(status);
    } catch (Throwable e) {
      log.error("the end of {} at one of two servers could not be noted", method, e);
    }
  }

  private void stopHedging() {
    if (hedgeAlarm != null) {
      hedgeAlarm.cancel(false);
      hedgeAlarm = null;
    }
  }

  /**
   * True when a server could not answer, and another has been asked or is asked now.
   *
   * @param yields whether the call is better answered by the other, if there are two
   */
  private boolean goesOnWithout(Attempt failed, Status status, boolean yields) {
    Attempt second = hedge;
    if (second == null) {
      return tryAnother(status);
    }
    if (!yields) {
      return false;
    }
    asked = failed == second ? asked : second;
    hedge = null;
    giveWay(failed, status);
    return true;
  }

  /** What another server may well answer otherwise. */
  private static boolean isOfTheServer(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, NOT_FOUND, RESOURCE_EXHAUSTED -> true;
      default -> false;
    };
  }

  private void pass(UpstreamConnection.Exchange from, ByteBuf data, boolean last) {
    Passage passage = answer;
    if (passage == null) {
      MessageBounds its = new MessageBounds(Integer.MAX_VALUE);
      passage = new Passage(memory, its, client.windowBytes(), false, from.window(), loop());
      answer = passage;
    }
    HeldPart part;
    try {
      part = passage.arrived(data, false);
    } catch (StatusException e) {
      end(e.getStatus());
      return;
    }
    if (last) {
      passage.close();
    }
    Attempt by = asked;
    if (by != null) {
      passBegin(by);
    }
    ChannelHandlerContext to = client.context();
    ChannelPromise sent = to.newPromise();
    client.writing();
    progress.leaving();
    client.encoder().writeData(to, stream.id(), part.data().retainedDuplicate(), 0, false, sent);
    sent.addListener(
        done -> {
          client.written();
          progress.left();
          if (done.isSuccess()) {
            part.passed();
          }
          part.release();
        });
    client.flushSoon();
  }

  private void passBegin(Attempt by) {
    Http2Headers first = by.begin;
    if (first != null) {
      by.begin = null;
      answered = true;
      forget();
      if (wholeNanos != 0) {
        by.route.answering(System.nanoTime() - wholeNanos);
      }
      ChannelHandlerContext to = client.context();
      client.encoder().writeHeaders(to, stream.id(), first, 0, false, to.newPromise());
    }
  }

  private boolean tryAnother(Status status) {
    Attempt failed = asked;
    if (status.isOk() || answered || !keeps || failed == null) {
      return false;
    }
    try {
      Route other = failed.route.other(status);
      if (other == null) {
        return false;
      }
      stopHedging();
      begin(other);
    } catch (Throwable e) {
      log.error("{} cannot be sent on", method, e);
      end(Status.INTERNAL.withDescription("the call cannot be sent on"));
    }
    return true;
  }

  private static Status status(Http2Headers trailers) {
    CharSequence code = trailers.get(STATUS);
    if (code == null) {
      return Status.UNKNOWN.withDescription("the server has given no status");
    }
    try {
      Status status = Status.fromCodeValue(Integer.parseInt(code.toString()));
      CharSequence message = trailers.get(MESSAGE);
      return message == null ? status : status.withDescription(message.toString());
    } catch (NumberFormatException e) {
      return Status.UNKNOWN.withDescription("the server's status is '" + code + "'");
    }
  }

  // How it ends.

  private void late() {
    Status status = Status.DEADLINE_EXCEEDED.withDescription("the call's deadline has passed");
    if (closed || !progress.isLeaving()) {
      end(status);
    } else {
      giveUp(status);
      client.reset(stream, Http2Error.CANCEL); // the client has given up too
    }
  }

  /** Ends the call in the place of a server. */
  private void end(Status status) {
    if (!over) {
      giveUp(status);
      write(client.headers().end(status, new Metadata(), !answered));
    }
  }

  /** Asks the server no more. */
  private void giveUp(Status status) {
    Attempt at = asked;
    Attempt also = hedge;
    if (!over) {
      finish(status);
    }
    if (at != null) {
      at.cancel();
    }
    if (also != null) {
      also.cancel();
    }
  }

  private void write(Http2Headers trailers) {
    ChannelHandlerContext to = client.context();
    client
        .encoder()
        .writeHeaders(to, stream.id(), trailers, 0, true, to.newPromise())
        .addListener(done -> client.stopSending(stream));
    client.flushSoon();
  }

  @Override
  public void streamClosed() {
    closed = true;
    if (alarm != null) {
      alarm.cancel(false);
    }
    giveUp(Status.CANCELLED.withDescription("the client has ended the call"));
  }

  private void finish(Status status) {
    over = true;
    forget();
    requests.close();
    if (answer != null) {
      answer.close();
    }
    stopHedging();
    Attempt also = hedge;
    hedge = null;
    if (also != null) {
      giveWay(also, Status.CANCELLED.withDescription("the call is over"));
    }
    Attempt last = asked;
    if (last != null) {
      try {
        last.route.ended(status);
      } catch (Throwable e) {
        log.error("the end of {} could not be noted", method, e);
      }
    }
  }
}
