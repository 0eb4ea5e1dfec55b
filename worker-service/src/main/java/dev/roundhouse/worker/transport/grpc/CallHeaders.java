package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.platform.telemetry.TraceContexts;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.trace.RequestSpans;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.opentelemetry.api.trace.SpanContext;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** What the metadata of a call says of a request for inference. */
public final class CallHeaders {
  private static final Metadata.Key<String> CALLER =
      Metadata.Key.of(CallerHeader.NAME, Metadata.ASCII_STRING_MARSHALLER);

  private static final Metadata.Key<String> SPENT =
      Metadata.Key.of(SpentHeader.NAME, Metadata.ASCII_STRING_MARSHALLER);

  private static final Metadata.Key<String> TRACEPARENT =
      Metadata.Key.of(TraceContexts.TRACEPARENT, Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> TRACESTATE =
      Metadata.Key.of(TraceContexts.TRACESTATE, Metadata.ASCII_STRING_MARSHALLER);

  private CallHeaders() {}

  /** Who asks, as {@link CallerHeader} has it; 0 when that is not known. */
  public static int caller(ServerCall<?, ?> call, Metadata headers) {
    ConnectionMemory connection = call.getAttributes().get(ConnectionMemory.KEY);
    if (connection != null) {
      return CallerHeader.caller(connection.peerNumber(), headers.get(CALLER));
    }
    SocketAddress address = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    return address == null
        ? 0
        : CallerHeader.caller(PeerMemory.peerNumber(address), headers.get(CALLER));
  }

  /** What is gone of the request's own budget. */
  public static long spentNanos(Metadata headers) {
    return SpentHeader.nanos(headers.get(SPENT));
  }

  /**
   * The caller's span.
   *
   * @param spans null when no request has any
   * @return invalid for none, null when no request has spans
   */
  public static @Nullable SpanContext calledIn(Metadata headers, @Nullable RequestSpans spans) {
    return spans == null ? null : spans.caller(headers.get(TRACEPARENT), headers.get(TRACESTATE));
  }
}
