package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.http2.SlowPeersContract;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;

/** Of calls that are sent on to another server, which has no such limits. */
class ForwardedSlowPeersTest extends SlowPeersContract {

  @Override
  protected ServerBuilder<?> serving(Http2ServerBuilder with, ServerServiceDefinition service) {
    ServerBuilder<?> back =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .maxInboundMessageSize(256 << 20)
            .addService(service);
    return new Front(back, with);
  }
}
