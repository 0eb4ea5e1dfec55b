package dev.roundhouse.grpc;

import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;

/**
 * Of calls that are sent on to another server, which has no such limits. What is passed on is
 * bounded by the windows of its stream, so that it is not counted.
 */
class ForwardedSlowPeersTest extends SlowPeersContract {

  @Override
  ServerBuilder<?> serving(Http2ServerBuilder with, ServerServiceDefinition service) {
    ServerBuilder<?> back =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .maxInboundMessageSize(256 << 20)
            .addService(service);
    return new Front(back, with);
  }
}
