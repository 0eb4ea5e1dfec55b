package dev.roundhouse.grpc;

import dev.roundhouse.grpc.CallRouter.Route;
import io.grpc.Decompressor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which servers a call is sent to: the first by what its message says, another when one cannot
 * answer, and a second beside the first when that takes long. Whichever answers first answers the
 * call. On the event loop of the call.
 */
final class AskedServers {
  private static final Logger log = LoggerFactory.getLogger(AskedServers.class);
  private static final int PREFIX_BYTES = 5;
  private static final AsciiString TIMEOUT = AsciiString.cached("grpc-timeout");
  private static final String ENCODING = "grpc-encoding";
  private static final String LEFT_TEXT =
      "the client has cancelled, or not waited for, %d calls that have not ended at their server, which is the limit of a connection; give calls more time, or send fewer"
          .formatted(LeftCalls.MOST_OF_CLIENT);
  private static final Status LEFT_TOO_MANY =
      Status.RESOURCE_EXHAUSTED
          .withDescription(LEFT_TEXT)
          .withCause(new LostCall(LEFT_TEXT, LostCall.Seen.NO, LostCall.Fault.NOBODYS));

  private final ForwardedCall call;
  private final Connection client;
  private final String method;
  private final Http2Headers request;
  private final CallRouter router;
  private final UpstreamPool servers;
  private final HeldMemory memory;
  private final KeptRequest kept;

  /** The server that is asked; once an answer is passed on, the one whose answer it is. */
  private @Nullable Attempt asked;

  /** A second one that is asked as well. */
  private @Nullable Attempt hedge;

  private @Nullable ScheduledFuture<?> hedgeAlarm;

  /** When all of the request was here. */
  private long wholeNanos;

  private boolean compressed;

  AskedServers(
      ForwardedCall call,
      Connection client,
      String method,
      Http2Headers request,
      ServerSettings.Forwarding forwarding,
      KeptRequest kept) {
    this.call = call;
    this.client = client;
    this.method = method;
    this.request = request;
    router = forwarding.router();
    servers = forwarding.servers();
    memory = forwarding.memory();
    this.kept = kept;
  }

  private EventLoop loop() {
    return client.context().channel().eventLoop();
  }

  /** The server that is asked; null until it is known which. */
  @Nullable Attempt asked() {
    return asked;
  }

  // The first.

  /** Finds a server by what has come. */
  void choose() {
    ByteBuf have = kept.data();
    if (have.readableBytes() < PREFIX_BYTES) {
      if (call.isWhole()) {
        call.end(Status.INVALID_ARGUMENT.withDescription("the call ended without a message"));
      }
      return;
    }
    compressed = have.getByte(have.readerIndex()) != 0;
    long length = have.getUnsignedInt(have.readerIndex() + 1);
    int arrived = (int) Math.min(length, have.readableBytes() - PREFIX_BYTES);
    try {
      ByteBuf message = have.slice(have.readerIndex() + PREFIX_BYTES, arrived);
      boolean arrives = arrived < length && !call.isWhole();
      int most = compressed ? FirstMessage.FIRST_SHOWN_BYTES : FirstMessage.MOST_SHOWN_BYTES;
      ByteBuffer shown = shown(message, most);
      boolean isAll = shown.remaining() < most;
      boolean more = isAll ? arrives : compressed;
      Route found = router.route(method, shown, more);
      if (found == null && !isAll && compressed) {
        shown = shown(message, FirstMessage.MOST_SHOWN_BYTES);
        more = arrives && shown.remaining() < FirstMessage.MOST_SHOWN_BYTES;
        found = router.route(method, shown, more);
      }
      if (found != null) {
        begin(found);
      } else if (!more) {
        call.end(
            Status.INVALID_ARGUMENT.withDescription("the message does not say where it is to go"));
      }
    } catch (StatusException e) {
      call.end(e.getStatus());
    } catch (StatusRuntimeException e) {
      call.end(e.getStatus());
    } catch (Throwable e) {
      failed(e);
    }
  }

  private ByteBuffer shown(ByteBuf message, int most) throws StatusException {
    if (!compressed) {
      return FirstMessage.view(message);
    }
    Decompressor with = client.headers().decompressor(HeaderCodec.only(ENCODING, request));
    return FirstMessage.uncompressed(message, with, most);
  }

  private void failed(Throwable cause) {
    log.error("{} cannot be sent on", method, cause);
    call.end(Status.INTERNAL.withDescription("the call cannot be sent on"));
  }

  /** Sends what is here to a server, and from then on what comes. */
  private void begin(Route to) {
    Attempt attempt = new Attempt(this, to);
    asked = attempt;
    if (call.leftNanos() <= 0) {
      call.late();
      return;
    }
    open(attempt);
    hedgeLater();
  }

  private void open(Attempt attempt) {
    UpstreamConnection to = servers.connection(loop(), attempt.route().address());
    if (!to.takesCallsOf(client)) {
      onLost(attempt, LEFT_TOO_MANY);
      return;
    }
    attempt.open(to, client, headers(to, call.leftNanos()), kept, call.isWhole());
  }

  private Http2Headers headers(UpstreamConnection to, long leftNanos) {
    Http2Headers headers = new DefaultHttp2Headers(false, request.size() + 2);
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
    String caller = router.callerHeader();
    if (!caller.isEmpty()) {
      headers.set(caller, Integer.toString(client.memory().peerNumber()));
    }
    if (leftNanos != Long.MAX_VALUE) {
      headers.set(TIMEOUT, GrpcTimeout.text(leftNanos));
    }
    return headers;
  }

  // A second beside it.

  /** Has a second server be asked if the first takes long, once all of the request is here. */
  void hedgeLater() {
    Attempt first = asked;
    if (call.isOver() || !call.isWhole() || first == null || wholeNanos != 0) {
      return;
    }
    wholeNanos = System.nanoTime();
    long after = first.route().hedgeAfterNanos();
    if (after != Route.NEVER) {
      hedgeAlarm = loop().schedule(this::hedge, after, TimeUnit.NANOSECONDS);
    }
  }

  private void hedge() {
    Attempt first = asked;
    if (call.isOver() || call.isAnswered() || first == null || first.hasBegin()) {
      return;
    }
    if (!kept.canBeSent() || compressed || memory.isCrowded() || call.leftNanos() <= 0) {
      return;
    }
    try (InputStream message = kept.firstMessage()) {
      Route second = first.route().hedge(message);
      if (second != null) {
        Attempt also = new Attempt(this, second);
        hedge = also;
        open(also);
      }
    } catch (Throwable e) {
      log.error("{} cannot be sent to a second server", method, e); // the first may still answer
    }
  }

  private void stopHedging() {
    if (hedgeAlarm != null) {
      hedgeAlarm.cancel(false);
      hedgeAlarm = null;
    }
  }

  // What they say.

  void onData(Attempt by, UpstreamConnection.Exchange from, ByteBuf data, boolean last) {
    if (!call.isOver()) {
      win(by);
      call.pass(from, data, last);
    }
  }

  void onTrailers(Attempt by, Status said, Http2Headers trailers) {
    Status status = withRefusal(said, trailers);
    String keepsCall = router.keepsCall();
    boolean isKept = !keepsCall.isEmpty() && trailers.contains(keepsCall);
    if (call.isOver() || (!isKept && goesOnWithout(by, status, isOfTheServer(status)))) {
      return;
    }
    win(by);
    call.passEnd(status, trailers);
  }

  private Status withRefusal(Status said, Http2Headers trailers) {
    String trailer = router.refusalTrailer();
    Refusal refusal = said.isOk() || trailer.isEmpty() ? null : Refusal.read(trailers.get(trailer));
    return refusal == null ? said : said.withCause(refusal);
  }

  void onLost(Attempt by, Status status) {
    if (!call.isOver() && !isAskedAgain(by, status) && !goesOnWithout(by, status, true)) {
      call.end(status);
    }
  }

  /**
   * A server that has certainly not begun with the call is asked once more, by a new connection.
   */
  private boolean isAskedAgain(Attempt lost, Status status) {
    if (!(status.getCause() instanceof LostCall why)
        || !why.isUnseen()
        || status.getCode() != Status.Code.UNAVAILABLE
        || call.isAnswered()
        || !kept.canBeSent()
        || call.leftNanos() <= 0) {
      return false;
    }
    Attempt again = lost.again();
    if (again == null) {
      return false;
    }
    if (lost == hedge) {
      hedge = again;
    } else {
      asked = again;
    }
    try {
      open(again);
    } catch (Throwable e) {
      failed(e);
    }
    return true;
  }

  /** What the answer begins with, if that is to be passed on now. */
  @Nullable Http2Headers takeBegin() {
    Attempt by = asked;
    Http2Headers first = by == null ? null : by.takeBegin();
    if (by != null && first != null && wholeNanos != 0) {
      by.route().answering(System.nanoTime() - wholeNanos);
    }
    return first;
  }

  /** The call is answered by this server, whoever else was asked. */
  private void win(Attempt winner) {
    stopHedging();
    Attempt loser = winner == asked ? hedge : asked;
    asked = winner;
    hedge = null;
    if (loser != null && loser != winner) {
      giveWay(loser, Status.CANCELLED.withDescription("another server has answered first"));
      loser.leave(call.leftNanos());
    }
  }

  private void giveWay(Attempt loser, Status status) {
    try {
      loser.route().gaveWay(status);
    } catch (Throwable e) {
      log.error("the end of {} at one of two servers could not be noted", method, e);
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

  private boolean tryAnother(Status status) {
    Attempt failed = asked;
    if (status.isOk() || call.isAnswered() || !kept.canBeSent() || failed == null) {
      return false;
    }
    try {
      Route other = failed.route().other(status);
      if (other == null) {
        return false;
      }
      stopHedging();
      begin(other);
    } catch (Throwable e) {
      failed(e);
    }
    return true;
  }

  /** What another server may well answer otherwise. */
  private static boolean isOfTheServer(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, NOT_FOUND, RESOURCE_EXHAUSTED -> true;
      default -> status.getCause() == Refusal.OF_MODEL;
    };
  }

  // How it ends.

  /** The call is over; once. */
  void ended(Status status) {
    stopHedging();
    Attempt also = hedge;
    if (also != null) {
      giveWay(also, Status.CANCELLED.withDescription("the call is over"));
    }
    Attempt last = asked;
    if (last != null) {
      try {
        last.route().ended(status);
      } catch (Throwable e) {
        log.error("the end of {} could not be noted", method, e);
      }
    }
  }

  /** Whoever still answers need not. */
  void leave() {
    Attempt last = asked;
    if (last != null) {
      last.leave(call.leftNanos());
    }
    Attempt also = hedge;
    if (also != null) {
      also.leave(call.leftNanos());
    }
  }
}
