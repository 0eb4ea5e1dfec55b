package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.InternalMetadata;
import io.grpc.InternalStatus;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/** One server that a call is sent to, and its answer. On the call's event loop. */
final class CallAttempt implements Attempts.Attempt, UpstreamStream.Answers {
  private static final AsciiString STATUS = AsciiString.cached("grpc-status");
  private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");

  private final CallSender of;
  private final Route route;
  private final boolean isAgain;
  private @Nullable UpstreamStream stream;

  /** The answer's headers, until it is known whether this answer is used. */
  private @Nullable Http2Headers begin;

  CallAttempt(CallSender of, Route route, boolean isAgain) {
    this.of = of;
    this.route = route;
    this.isAgain = isAgain;
  }

  @Override
  public Route route() {
    return route;
  }

  @Override
  public boolean isAgain() {
    return isAgain;
  }

  /**
   * Sends what has arrived of the request.
   *
   * @param client the caller
   * @param last whether that is the whole request
   */
  void open(
      UpstreamConnection connection,
      Object client,
      Http2Headers headers,
      KeptRequest kept,
      boolean last) {
    UpstreamStream opened = connection.open(this, client, headers);
    stream = opened;
    kept.sendTo(opened, last);
  }

  void send(ForwardedChunk part, boolean last) {
    if (stream != null) {
      stream.send(part, last);
    }
  }

  void sendEnd() {
    if (stream != null) {
      stream.sendEnd();
    }
  }

  @Override
  public void leave() {
    if (stream != null) {
      stream.leave(of.leftNanos());
    }
  }

  /** True when it has answered with headers that have not been passed on. */
  boolean hasBegin() {
    return begin != null;
  }

  /** The answer's headers; null before they arrive, and on the second call. */
  @Nullable Http2Headers takeBegin() {
    Http2Headers taken = begin;
    begin = null;
    return taken;
  }

  @Override
  public void onHeaders(Http2Headers headers) {
    begin = headers;
  }

  @Override
  public void onData(ByteBuf data, boolean last) {
    UpstreamStream from = stream;
    if (from != null) {
      of.onData(this, from, data, last);
    }
  }

  @Override
  public void onTrailers(Http2Headers trailers) {
    of.onTrailers(this, status(trailers), trailers);
  }

  @Override
  public void onLost(Status status) {
    of.onLost(this, status);
  }

  private static Status status(Http2Headers trailers) {
    CharSequence code = trailers.get(STATUS);
    if (code == null) {
      return Status.UNKNOWN.withDescription("the server has given no status");
    }
    try {
      Status status = Status.fromCodeValue(Integer.parseInt(code.toString()));
      CharSequence message = trailers.get(MESSAGE);
      return message == null ? status : status.withDescription(decoded(message));
    } catch (NumberFormatException e) {
      return Status.UNKNOWN.withDescription("the server's status is '" + code + "'");
    }
  }

  /** As the server wrote it: percent signs and what is not ASCII come percent-encoded. */
  private static @Nullable String decoded(CharSequence message) {
    byte[] value = AsciiString.of(message).toByteArray();
    return InternalMetadata.newMetadata(MESSAGE.array(), value).get(InternalStatus.MESSAGE_KEY);
  }
}
