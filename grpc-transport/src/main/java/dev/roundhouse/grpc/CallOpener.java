package dev.roundhouse.grpc;

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
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls of the streams that a client opens, or says why a stream is no call. For the event
 * loop of one connection.
 */
final class CallOpener {
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
              : "Content-Type '" + contentType + "' is not supported");
      return;
    }
    try {
      if (!forward(stream, headers, endOfStream)) {
        open(stream, headers, HeaderCodec.metadata(headers), endOfStream);
      }
    } catch (StatusRuntimeException e) {
      refuse(stream, e.getStatus());
    }
  }

  /** Sends a call on, if it is one that is; false if it is not. */
  private boolean forward(Http2Stream stream, Http2Headers headers, boolean endOfStream) {
    ServerSettings.Forwarding forwarding = settings.forwarding();
    CharSequence path = headers.path();
    if (forwarding == null || path == null || path.length() < 2 || path.charAt(0) != '/') {
      return false;
    }
    String method = path.subSequence(1, path.length()).toString();
    if (!forwarding.router().forwards(method)) {
      return false;
    }
    Metadata times = HeaderCodec.only(GrpcUtil.TIMEOUT_KEY.name(), headers);
    Long timeoutNanos = timeoutNanos(times);
    ForwardedCall call =
        new ForwardedCall(
            connection,
            stream,
            method,
            headers,
            timeoutNanos == null ? Long.MAX_VALUE : timeoutNanos,
            forwarding);
    connection.attach(stream, call);
    if (endOfStream) {
      call.endOfStream();
    }
    return true;
  }

  private void open(
      Http2Stream stream, Http2Headers headers, Metadata metadata, boolean endOfStream) {
    String path = String.valueOf(headers.path());
    CharSequence authority = headers.authority();
    ServerMethodDefinition<?, ?> method =
        path.startsWith("/") ? method(path.substring(1), authority) : null;
    if (method == null) {
      throw Status.UNIMPLEMENTED
          .withDescription("Method not found: " + (path.startsWith("/") ? path.substring(1) : path))
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
                connection.allocator(), settings.budget(), settings.maxMessageBytes()));
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
    connection
        .encoder()
        .writeHeaders(to, stream.id(), end, 0, true, to.newPromise())
        .addListener(done -> connection.stopSending(stream));
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
