package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.CallForwarder;
import dev.roundhouse.transport.http2.ServerStream;
import dev.roundhouse.transport.http2.StreamListener;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Forwards a server's gRPC calls to the servers that a router chooses. */
public final class GrpcForwarder implements CallForwarder {
  private static final Duration SILENCE = Duration.ofSeconds(20);
  private static final Duration LEAST_SILENCE = Duration.ofSeconds(1);

  private final CallRouter router;
  private final CallAdmission admission;
  private final ForwardingBudget budget;
  private final UpstreamPool servers;

  /** In plain text. */
  public GrpcForwarder(CallRouter router, ForwardingBudget budget) {
    this(router, CallAdmission.EVERYONE, budget, SILENCE, null);
  }

  /**
   * @param router chooses calls and servers
   * @param admission decides who may make them
   * @param budget counts what is held of them
   * @param silence of the network after which a connection to a server counts as lost; at least a
   *     second
   * @param tls null for plain text
   */
  public GrpcForwarder(
      CallRouter router,
      CallAdmission admission,
      ForwardingBudget budget,
      Duration silence,
      @Nullable UpstreamTls tls) {
    if (silence.compareTo(LEAST_SILENCE) < 0) {
      throw new IllegalArgumentException("silence of " + silence + "; at least " + LEAST_SILENCE);
    }
    this.router = router;
    this.admission = admission;
    this.budget = budget;
    servers = new UpstreamPool(new ServerSockets(silence, tls));
  }

  @Override
  public boolean forwards(String method) {
    return router.forwards(method);
  }

  @Override
  public StreamListener open(
      ServerStream stream, String method, Http2Headers request, long timeoutNanos) {
    CallerRights caller = admission.admit(method, request, stream.attributes());
    return new ForwardedCall(stream, method, request, caller, timeoutNanos, this);
  }

  @Override
  public int firstWindowBytes(int mostBytes) {
    return ForwardingWindow.firstBytes(mostBytes);
  }

  CallRouter router() {
    return router;
  }

  ForwardingBudget budget() {
    return budget;
  }

  UpstreamPool servers() {
    return servers;
  }
}
