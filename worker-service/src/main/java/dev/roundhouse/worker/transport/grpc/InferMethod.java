package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.RequestWalk;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
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
    ServiceDescriptor.Builder methods =
        ServiceDescriptor.newBuilder(service.getServiceDescriptor().getName())
            .setSchemaDescriptor(service.getServiceDescriptor().getSchemaDescriptor());
    var all =
        service.getMethods().stream()
            .<ServerMethodDefinition<?, ?>>map(each -> isInfer(each) ? method : each)
            .toList();
    all.forEach(each -> methods.addMethod(each.getMethodDescriptor()));
    ServerServiceDefinition.Builder with = ServerServiceDefinition.builder(methods.build());
    all.forEach(with::addMethod);
    return with.build();
  }

  private static boolean isInfer(ServerMethodDefinition<?, ?> method) {
    return method
        .getMethodDescriptor()
        .getFullMethodName()
        .equals(GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName());
  }

  /** Reads requests; {@link GuardedService} has its own way to end a call that it cannot read. */
  static final class Reading implements MethodDescriptor.Marshaller<InferMessage> {
    @Override
    public InferMessage parse(InputStream stream) {
      try {
        return RequestWalk.read(stream, -1);
      } catch (IOException e) {
        throw Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException();
      }
    }

    @Override
    public InputStream stream(InferMessage value) {
      throw new UnsupportedOperationException("a server reads requests and writes none");
    }
  }
}
