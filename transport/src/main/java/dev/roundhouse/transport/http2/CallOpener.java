package dev.roundhouse.transport.http2;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.internal.GrpcUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls of the streams that clients open, or rejects a stream that is not a call. Immutable;
 * called on the event loop of the stream's connection.
 */
final class CallOpener {
  /**
   * Heap that a call takes besides its headers, measured with 4,096 idle streams: the stream and
   * its windows, the call, its context and its observers.
   */
  static final long CALL_BYTES = 3 << 10;

  /** The same for a forwarded call, which also has a stream at another server. */
  private static final long FORWARDED_BYTES = 6 << 10;

  private final ServerSettings settings;
  private final Context context;
  private final BooleanSupplier hasTooManyCalls;

  /**
   * @param context parent of all calls' contexts
   * @param hasTooManyCalls whether the limit is exceeded, the new call included
   */
  CallOpener(ServerSettings settings, Context context, BooleanSupplier hasTooManyCalls) {
    this.settings = settings;
    this.context = context;
    this.hasTooManyCalls = hasTooManyCalls;
  }

  /** Starts the call that the headers describe, or answers why there is none. */
  void open(ServerStream stream, Http2Headers headers, boolean endOfStream) {
    if (hasTooManyCalls.getAsBoolean()) {
      refuse(
          stream,
          Status.RESOURCE_EXHAUSTED.withDescription(
              "the server has as many calls open as it may, %d; retry later, or raise its limit of calls"
                  .formatted(settings.limits().maxCalls())));
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
      long bytes = (forwarded == null ? CALL_BYTES : FORWARDED_BYTES) + HeaderCodec.bytes(headers);
      String refusal = stream.keep(bytes);
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

  /** The method of a forwarded call; null for others. */
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
      ServerStream stream, String method, Http2Headers headers, boolean endOfStream) {
    CallForwarder forwarder = Objects.requireNonNull(settings.forwarder());
    Metadata times = HeaderCodec.only(GrpcUtil.TIMEOUT_KEY.name(), headers);
    Long timeoutNanos = timeoutNanos(times);
    stream.listen(
        forwarder.open(
            stream, method, headers, timeoutNanos == null ? Long.MAX_VALUE : timeoutNanos));
    if (endOfStream) {
      stream.endOfStream();
    }
  }

  private void open(
      ServerStream stream, Http2Headers headers, Metadata metadata, boolean endOfStream) {
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
    start(stream, method, metadata, authority == null ? null : authority.toString(), endOfStream);
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
      ServerStream stream,
      ServerMethodDefinition<Q, R> definition,
      Metadata metadata,
      @Nullable String authority,
      boolean endOfStream) {
    Call<Q, R> call =
        new Call<>(
            stream,
            definition.getMethodDescriptor(),
            metadata,
            authority,
            settings.headers().decompressor(metadata),
            callContext(stream, metadata));
    stream.listen(call);
    call.start(definition);
    if (endOfStream) {
      stream.endOfStream();
    }
  }

  private Context.CancellableContext callContext(ServerStream stream, Metadata metadata) {
    Long timeoutNanos = timeoutNanos(metadata);
    return timeoutNanos == null
        ? context.withCancellation()
        : context.withDeadline(
            Deadline.after(timeoutNanos, TimeUnit.NANOSECONDS), stream.eventLoop());
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

  private void refuse(ServerStream stream, Status status) {
    stream.writeEnd(settings.headers().end(status, new Metadata(), true), true);
  }

  private static void refuse(ServerStream stream, HttpResponseStatus status, String text) {
    stream.writeHeaders(HeaderCodec.refusal(status));
    stream.writeEnd(text);
  }
}
