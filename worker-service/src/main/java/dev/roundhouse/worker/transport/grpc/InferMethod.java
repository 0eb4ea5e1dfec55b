package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.RequestWalk;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.worker.transport.grpc.ReceivingMarshaller.MessageReader;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.ServerCalls.UnaryMethod;
import java.io.IOException;
import java.io.InputStream;

/** ModelInfer, whose requests are read where they lie and never become protobuf's objects. */
final class InferMethod {
  private InferMethod() {}

  /** A service with another method in the place of its ModelInfer. */
  static ServerServiceDefinition in(
      ServerServiceDefinition service, UnaryMethod<InferMessage, ModelInferResponse> infer) {
    var descriptor = GRPCInferenceServiceGrpc.getModelInferMethod();
    var method =
        ServerMethodDefinition.create(
            descriptor.toBuilder(new Reading(), descriptor.getResponseMarshaller()).build(),
            ServerCalls.asyncUnaryCall(infer));
    return GuardedService.withMethods(service, each -> isInfer(each) ? method : each);
  }

  private static boolean isInfer(ServerMethodDefinition<?, ?> method) {
    return method
        .getMethodDescriptor()
        .getFullMethodName()
        .equals(GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName());
  }

  /** How a {@link GuardedService} reads requests; no other can. */
  private static final class Reading
      implements MethodDescriptor.Marshaller<InferMessage>, MessageReader<InferMessage> {
    @Override
    public InferMessage read(InputStream stream, int length) throws IOException {
      return RequestWalk.read(stream, length);
    }

    @Override
    public InferMessage parse(InputStream stream) {
      throw new UnsupportedOperationException("a guarded service reads by its MessageReader");
    }

    @Override
    public InputStream stream(InferMessage value) {
      throw new UnsupportedOperationException("a server reads requests and writes none");
    }
  }
}
