package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.http2.HeaderCodec;
import dev.roundhouse.transport.http2.ServerStream;
import io.grpc.Decompressor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends a call to the servers that {@link Attempts} chooses, the first by the content of its
 * message. On the call's event loop.
 */
final class CallSender implements Attempts.Sender<CallAttempt> {

  /**
   * A server that resets a call with less time left did so because of its deadline, by its own
   * clock.
   */
  private static final long EARLY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final Logger log = LoggerFactory.getLogger(CallSender.class);
  private static final int PREFIX_BYTES = 5;
  private static final AsciiString TIMEOUT = AsciiString.cached("grpc-timeout");
  private static final AsciiString AUTHORIZATION = AsciiString.cached("authorization");
  private static final AsciiString TRACEPARENT = AsciiString.cached("traceparent");
  private static final AsciiString TRACESTATE = AsciiString.cached("tracestate");
  private static final String ENCODING = "grpc-encoding";
  private static final String LEFT_TEXT =
      "the client has cancelled, or not waited for, %d calls that have not ended at their server, which is the limit of a connection; give calls more time, or send fewer"
          .formatted(LeftCalls.MOST_OF_CLIENT);
  private static final Status LEFT_TOO_MANY =
      Status.RESOURCE_EXHAUSTED
          .withDescription(LEFT_TEXT)
          .withCause(new LostCall(LEFT_TEXT, LostCall.Seen.NO, LostCall.Fault.NOBODYS));

  private final ForwardedCall call;
  private final ServerStream client;
  private final String method;
  private final Http2Headers request;
  private final @Nullable CallerRights caller;
  private final CallRouter router;
  private final UpstreamPool servers;
  private final ForwardingBudget memory;
  private final KeptRequest kept;

  private final Attempts<CallAttempt> attempts = new Attempts<>(this, System::nanoTime);

  private @Nullable ScheduledFuture<?> hedgeAlarm;
  private boolean compressed;

  CallSender(
      ForwardedCall call,
      ServerStream client,
      String method,
      Http2Headers request,
      @Nullable CallerRights caller,
      GrpcForwarder forwarder,
      KeptRequest kept) {
    this.call = call;
    this.client = client;
    this.method = method;
    this.request = request;
    this.caller = caller;
    router = forwarder.router();
    servers = forwarder.servers();
    memory = forwarder.budget();
    this.kept = kept;
  }

  private EventLoop loop() {
    return client.eventLoop();
  }

  /** The current server; null until it is chosen. */
  @Nullable CallAttempt asked() {
    return attempts.asked();
  }

  /** Until the deadline given to servers; {@link Long#MAX_VALUE} for none. */
  long leftNanos() {
    return call.leftNanos();
  }

  // Choosing the first server.

  /** Chooses a server by what has arrived. */
  void choose() {
    ByteBuf have = kept.data();
    if (have.readableBytes() < PREFIX_BYTES) {
      if (call.isWhole()) {
        boolean isNone = !have.isReadable() && !router.unaryRequest(method);
        call.end(
            isNone // an empty stream, which needs no server
                ? Status.OK
                : Status.INVALID_ARGUMENT.withDescription("the call ended without a message"));
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
      Route found = router.route(method, caller, shown, more);
      if (found == null && !isAll && compressed) {
        shown = shown(message, FirstMessage.MOST_SHOWN_BYTES);
        more = arrives && shown.remaining() < FirstMessage.MOST_SHOWN_BYTES;
        found = router.route(method, caller, shown, more);
      }
      if (found != null) {
        if (router.tracesCalls()) {
          found.calledIn(field(TRACEPARENT), field(TRACESTATE));
        }
        attempts.begin(found);
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

  private @Nullable String field(AsciiString name) {
    CharSequence value = request.get(name);
    return value == null ? null : value.toString();
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

  // Sender.

  @Override
  public CallAttempt attempt(Route route, boolean isAgain) {
    return new CallAttempt(this, route, isAgain);
  }

  /** Sends what has arrived to a server, and then what follows. */
  @Override
  public void send(CallAttempt attempt) {
    if (call.leftNanos() <= 0) {
      client.endLate();
      return;
    }
    UpstreamConnection to =
        servers.connection(loop(), attempt.route().address(), client.windowBytes());
    if (to.takesCallsOf(client.memory())) {
      Http2Headers headers = headers(to, call.leftNanos(), attempt.route().traceparent());
      attempt.open(to, client.memory(), headers, kept, call.isWhole());
    } else {
      onLost(attempt, LEFT_TOO_MANY);
    }
  }

  private Http2Headers headers(
      UpstreamConnection to, long leftNanos, @Nullable String traceparent) {
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
    String number = router.callerHeader();
    if (!number.isEmpty()) {
      headers.set(number, Integer.toString(client.memory().peerNumber()));
    }
    seal(headers);
    String spent = router.spentHeader();
    if (!spent.isEmpty()) {
      headers.remove(spent);
      long nanos = router.unaryRequest(method) ? attempts.spentNanos() : 0;
      if (nanos > 0) {
        headers.set(spent, Long.toString(nanos));
      }
    }
    if (traceparent != null) {
      headers.set(TRACEPARENT, traceparent);
    }
    if (leftNanos != Long.MAX_VALUE) {
      headers.set(TIMEOUT, GrpcTimeout.text(leftNanos));
    }
    return headers;
  }

  /** Tells the server who calls, in place of what the client has shown. */
  private void seal(Http2Headers headers) {
    String header = router.sealedHeader();
    if (header.isEmpty()) {
      return;
    }
    headers.remove(header);
    String sealed = caller == null ? null : caller.sealed();
    if (sealed != null) {
      headers.remove(AUTHORIZATION);
      headers.set(header, sealed);
    }
  }

  @Override
  public boolean canBeSentAgain() {
    return kept.canBeSent();
  }

  @Override
  public @Nullable Route second(CallAttempt first) {
    if (first.hasBegin() || compressed || memory.isCrowded()) {
      return null;
    }
    try (InputStream message = kept.firstMessage()) {
      return first.route().hedge(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // it is read from memory
    }
  }

  @Override
  public void hedgeAfter(long nanos) {
    hedgeAlarm = loop().schedule(attempts::hedgeIsDue, nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void hedgeNoMore() {
    if (hedgeAlarm != null) {
      hedgeAlarm.cancel(false);
      hedgeAlarm = null;
    }
  }

  /** The whole request has arrived. */
  void whole() {
    attempts.whole();
  }

  // Answers.

  void onData(CallAttempt by, UpstreamStream from, ByteBuf data, boolean last) {
    if (attempts.answered(by)) {
      call.pass(from, data, last);
    }
  }

  void onTrailers(CallAttempt by, Status said, Http2Headers trailers) {
    Status status = withRefusal(said, trailers);
    String keepsCall = router.keepsCall();
    boolean keeps = !keepsCall.isEmpty() && trailers.contains(keepsCall);
    try {
      if (attempts.said(by, status, keeps)) {
        call.passEnd(status, trailers);
      }
    } catch (Throwable e) {
      failed(e);
    }
  }

  private Status withRefusal(Status said, Http2Headers trailers) {
    String trailer = router.refusalTrailer();
    Refusal refusal = said.isOk() || trailer.isEmpty() ? null : Refusal.read(trailers.get(trailer));
    return refusal == null ? said : said.withCause(refusal);
  }

  void onLost(CallAttempt by, Status status) {
    try {
      if (attempts.lost(by, status)) {
        boolean late = status.getCode() == Status.Code.INTERNAL && leftNanos() < EARLY_NANOS;
        call.end(late ? ServerStream.LATE : status);
      }
    } catch (Throwable e) {
      failed(e);
    }
  }

  /** The answer's headers, if they are to be passed on now. */
  @Nullable Http2Headers takeBegin() {
    CallAttempt by = attempts.asked();
    Http2Headers first = by == null ? null : by.takeBegin();
    if (first != null) {
      attempts.answering();
    }
    return first;
  }

  /** The call is over; once. */
  void ended(Status status) {
    attempts.ended(status);
  }

  /** Leaves all servers that still answer. */
  void leave() {
    attempts.leave();
  }
}
