package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.platform.grpc.GuardedService;
import dev.roundhouse.worker.transport.grpc.RequestReader;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;

/** Infer and StreamInfer, whose requests may be large and are read under limits of their own. */
final class InferMethods {
  private InferMethods() {}

  /** The service with these in place of its own two methods. */
  static ServerServiceDefinition in(ServerServiceDefinition service, GrpcCalls calls) {
    var unary = GRPCServiceGrpc.getInferMethod();
    var bidi = GRPCServiceGrpc.getStreamInferMethod();
    Map<String, ServerMethodDefinition<?, ?>> own =
        Map.of(
            unary.getFullMethodName(),
            method(unary, unary(calls)),
            bidi.getFullMethodName(),
            method(bidi, bidi(calls)));
    return GuardedService.withMethods(
        service,
        method -> own.getOrDefault(method.getMethodDescriptor().getFullMethodName(), method));
  }

  private static ServerMethodDefinition<GrpcRequest, InferResponse> method(
      MethodDescriptor<?, InferResponse> descriptor,
      ServerCallHandler<GrpcRequest, InferResponse> handler) {
    return ServerMethodDefinition.create(
        descriptor.toBuilder(new Reading(), descriptor.getResponseMarshaller()).build(), handler);
  }

  private static ServerCallHandler<GrpcRequest, InferResponse> unary(GrpcCalls calls) {
    return (call, headers) -> {
      GrpcCalls.Origin origin = calls.origin(call, headers);
      return ServerCalls.<GrpcRequest, InferResponse>asyncUnaryCall(
              (request, answer) -> calls.infer(request, origin, answer))
          .startCall(call, headers);
    };
  }

  private static ServerCallHandler<GrpcRequest, InferResponse> bidi(GrpcCalls calls) {
    return (call, headers) -> {
      GrpcCalls.Origin origin = calls.origin(call, headers);
      return ServerCalls.<GrpcRequest, InferResponse>asyncBidiStreamingCall(
              answers -> calls.stream(origin, answers))
          .startCall(call, headers);
    };
  }

  private static final class Reading extends RequestReader<GrpcRequest> {
    @Override
    public GrpcRequest read(InputStream stream, int length) throws IOException {
      return GrpcRequest.read(stream);
    }
  }
}
