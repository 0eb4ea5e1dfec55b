package dev.roundhouse.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.net.ConnectException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Names the server that could not be reached or speaks another protocol, which gRPC's own messages
 * omit. Answers stay unchanged.
 */
final class NamesServer implements ClientInterceptor {
  /** What gRPC says of a peer that does not speak HTTP/2, or speaks HTTP/2 without gRPC. */
  private static final List<String> FOREIGN =
      List.of(
          "First received frame was not SETTINGS",
          "Unexpected HTTP/1.x request",
          "invalid content-type",
          "missing GRPC status");

  /** Of a connection that ended before anything was said on it. */
  private static final String CLOSED = "Network closed for unknown reason";

  private final String address;

  /**
   * @param address host and port, as the caller gave them
   */
  NamesServer(String address) {
    this.address = address;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        super.start(
            new SimpleForwardingClientCallListener<>(listener) {
              @Override
              public void onClose(Status status, Metadata trailers) {
                super.onClose(told(status), trailers);
              }
            },
            headers);
      }
    };
  }

  Status told(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, INTERNAL, UNKNOWN, UNIMPLEMENTED, PERMISSION_DENIED, UNAUTHENTICATED ->
          ofPeer(status);
      default -> status;
    };
  }

  private Status ofPeer(Status status) {
    String description = String.valueOf(status.getDescription());
    StringBuilder texts = new StringBuilder(description);
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof ConnectException) {
        return status.withDescription(
            "%s cannot be reached: %s".formatted(address, firstLine(cause.getMessage())));
      }
      texts.append('\n').append(cause.getMessage());
    }
    if (FOREIGN.stream().anyMatch(texts.toString()::contains)) {
      return asks(status, "speaks no gRPC", description);
    }
    return description.contains(CLOSED)
        ? asks(status, "closes connections without a word", description)
        : status;
  }

  private Status asks(Status status, String does, String description) {
    return status.withDescription(
        "%s %s: is it the server's gRPC port, and not the one for HTTP? (%s)"
            .formatted(address, does, firstLine(description)));
  }

  private static String firstLine(@Nullable String text) {
    return String.valueOf(text).lines().findFirst().orElse("");
  }
}
