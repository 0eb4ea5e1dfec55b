package dev.roundhouse.transport.http2;

import io.grpc.ServerBuilder;
import io.grpc.Status;

/** This server keeps gRPC's contract. */
class Http2ContractTest extends GrpcContract {
  @Override
  protected ServerBuilder<?> builder() {
    return Http2ServerBuilder.forAddress(ANY_PORT).streamWindow(1 << 16);
  }

  @Override
  protected Status.Code tooLargeUncompressed() {
    return Status.Code.RESOURCE_EXHAUSTED;
  }
}
