package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import io.grpc.ServerBuilder;
import io.grpc.Status;

/** What gRPC promises, of calls that are sent on to another server. */
class ForwardedContractTest extends GrpcContract {

  @Override
  protected ServerBuilder<?> builder() {
    return new Front(server(), server());
  }

  private static Http2ServerBuilder server() {
    return Http2ServerBuilder.forAddress(ANY_PORT).streamWindow(1 << 16);
  }

  @Override
  protected Status.Code tooLargeUncompressed() {
    return Status.Code.RESOURCE_EXHAUSTED;
  }
}
