package dev.roundhouse.transport.http2;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.internal.GrpcUtil;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls of the streams that a client opens, or says why a stream is no call. For the event
 * loop of one connection.
 */
final class CallOpener {
  /**
   * What a call takes of the heap besides its headers, measured with 4,096 idle streams: the stream
   * and its windows, the call, its context and its observers.
   */
  static final long CALL_BYTES = 3 << 10;

  /** The same for one that is sent on, which has a stream at another server too. */
  private static final long FORWARDED_BYTES = 6 << 10;

  private final Connection connection;
  private final Http2Server server;
  private final ServerSettings settings;

  CallOpener(Connection connection, Http2Server server, ServerSettings settings) {
    this.connection = connection;
    this.server = server;
    this.settings = settings;
  }

  /** Starts the call that the headers describe, or answers with the reason why there is none. */
  void open(Http2Stream stream, Http2Headers headers, boolean endOfStream) {
    if (server.hasTooManyCalls()) {
      refuse(
          stream,
          Status.RESOURCE_EXHAUSTED.withDescription(
              "the server has as many calls open as it may, %d; retry later, or raise its limit of calls"
                  .formatted(settings.maxCalls())));
      return;
    }
    if (!HttpMethod.POST.asciiName().contentEquals(headers.method())) {
      refuse(stream, HttpResponseStatus.METHOD_NOT_ALLOWED, "gRPC calls are made by POST");
      return;
    }
    CharSequence contentType = headers.get(HttpHeaderNames.CONTENT_TYPE);
    if (!HeaderCodec.isGrpc(contentType)) {
      refuse(
          stream,
          HttpResponseStatus.UNSUPPORTED_MEDIA_TYPE,
          contentType == null
              ? "Content-Type is missing from the request"
              : "Content-Type '" + ShortText.of(contentType) + "' is not supported");
      return;
    }
    try {
      String forwarded = forwardedMethod(headers);
      long bytes = (forwarded == null ? CALL_BYTES : FORWARDED_BYTES) + Connection.bytes(headers);
      String refusal = connection.keep(stream, bytes);
      if (refusal != null) {
        refuse(stream, Status.RESOURCE_EXHAUSTED.withDescription(refusal));
      } else if (forwarded != null) {
        forward(stream, forwarded, headers, endOfStream);
      } else {
        open(stream, headers, HeaderCodec.metadata(headers), endOfStream);
      }
    } catch (StatusRuntimeException e) {
      refuse(stream, e.getStatus());
    }
  }

  /** The method of a call that is sent on; null when it is not. */
  private @Nullable String forwardedMethod(Http2Headers headers) {
    CallForwarder forwarder = settings.forwarder();
    CharSequence path = headers.path();
    if (forwarder == null || path == null || path.length() < 2 || path.charAt(0) != '/') {
      return null;
    }
    String method = path.subSequence(1, path.length()).toString();
    return forwarder.forwards(method) ? method : null;
  }

  private void forward(
      Http2Stream stream, String method, Http2Headers headers, boolean endOfStream) {
    CallForwarder forwarder = Objects.requireNonNull(settings.forwarder());
    Metadata times = HeaderCodec.only(GrpcUtil.TIMEOUT_KEY.name(), headers);
    Long timeoutNanos = timeoutNanos(times);
    StreamHandler call =
        forwarder.open(
            connection,
            stream,
            method,
            headers,
            timeoutNanos == null ? Long.MAX_VALUE : timeoutNanos);
    connection.attach(stream, call);
    if (endOfStream) {
      call.endOfStream();
    }
  }

  private void open(
      Http2Stream stream, Http2Headers headers, Metadata metadata, boolean endOfStream) {
    String path = String.valueOf(headers.path());
    CharSequence authority = headers.authority();
    ServerMethodDefinition<?, ?> method =
        path.startsWith("/") ? method(path.substring(1), authority) : null;
    if (method == null) {
      throw Status.UNIMPLEMENTED
          .withDescription(
              "Method not found: " + ShortText.of(path.startsWith("/") ? path.substring(1) : path))
          .asRuntimeException();
    }
    Call.Headers told =
        new Call.Headers(
            metadata,
            authority == null ? null : authority.toString(),
            settings.headers().decompressor(metadata));
    start(stream, method, told, endOfStream);
  }

  private @Nullable ServerMethodDefinition<?, ?> method(
      String name, @Nullable CharSequence authority) {
    ServerMethodDefinition<?, ?> known = settings.methods().get(name);
    if (known != null || settings.fallback() == null) {
      return known;
    }
    return settings.fallback().lookupMethod(name, authority == null ? null : authority.toString());
  }

  private <Q, R> void start(
      Http2Stream stream,
      ServerMethodDefinition<Q, R> definition,
      Call.Headers headers,
      boolean endOfStream) {
    Call<Q, R> call =
        new Call<>(
            connection,
            stream,
            definition.getMethodDescriptor(),
            headers,
            callContext(headers.metadata()),
            new MessageAssembly(
                connection.allocator(), connection.messages(), settings.maxMessageBytes()));
    connection.attach(stream, call);
    call.start(definition);
    if (endOfStream) {
      call.endOfStream();
    }
  }

  private Context.CancellableContext callContext(Metadata metadata) {
    Long timeoutNanos = timeoutNanos(metadata);
    if (timeoutNanos == null) {
      return server.context().withCancellation();
    }
    return server
        .context()
        .withDeadline(
            Deadline.after(timeoutNanos, TimeUnit.NANOSECONDS), connection.context().executor());
  }

  private static @Nullable Long timeoutNanos(Metadata metadata) {
    try {
      return metadata.get(GrpcUtil.TIMEOUT_KEY);
    } catch (IllegalArgumentException e) {
      throw Status.INVALID_ARGUMENT
          .withDescription("grpc-timeout is malformed: " + e.getMessage())
          .asRuntimeException();
    }
  }

  private void refuse(Http2Stream stream, Status status) {
    ChannelHandlerContext to = connection.context();
    Http2Headers end = settings.headers().end(status, new Metadata(), true);
    long bytes = connection.keepEnd(end);
    connection
        .encoder()
        .writeHeaders(to, stream.id(), end, 0, true, to.newPromise())
        .addListener(
            done -> {
              connection.endLeft(bytes);
              connection.stopSending(stream);
            });
  }

  private void refuse(Http2Stream stream, HttpResponseStatus status, String text) {
    ChannelHandlerContext to = connection.context();
    connection
        .encoder()
        .writeHeaders(to, stream.id(), HeaderCodec.refusal(status), 0, false, to.newPromise());
    connection
        .encoder()
        .writeData(
            to, stream.id(), ByteBufUtil.writeUtf8(to.alloc(), text), 0, true, to.newPromise())
        .addListener(done -> connection.stopSending(stream));
  }
}
