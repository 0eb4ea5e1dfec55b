package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.grpc.ReceivedMessage;
import dev.roundhouse.grpc.memory.ConnectionMemory;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.RequestWalk;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.platform.grpc.GuardedService;
import dev.roundhouse.platform.grpc.ReceivingMarshaller.MessageReader;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.ServerCalls.BidiStreamingMethod;
import io.grpc.stub.ServerCalls.UnaryMethod;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** ModelInfer and ModelStreamInfer, whose messages never become protobuf's objects. */
final class InferMethods {
  /** Whether a stream's client wants the first failure to end the stream with its status. */
  static final Context.Key<Boolean> FAILS_WHOLE =
      Context.keyWithDefault("triton-grpc-error", false);

  /** What the stream's connection holds; null where nobody counts. */
  static final Context.Key<@Nullable ConnectionMemory> MEMORY = Context.key("connection-memory");

  private static final Metadata.Key<String> STRICT =
      Metadata.Key.of("triton_grpc_error", Metadata.ASCII_STRING_MARSHALLER);

  private InferMethods() {}

  /** A service with other methods in the place of its own two. */
  static ServerServiceDefinition in(
      ServerServiceDefinition service,
      UnaryMethod<InferMessage, EncodedMessage> infer,
      BidiStreamingMethod<InferMessage, EncodedMessage> stream) {
    var unary = GRPCInferenceServiceGrpc.getModelInferMethod();
    var bidi = GRPCInferenceServiceGrpc.getModelStreamInferMethod();
    Map<String, ServerMethodDefinition<?, ?>> own =
        Map.of(
            unary.getFullMethodName(),
            method(unary, ServerCalls.asyncUnaryCall(infer)),
            bidi.getFullMethodName(),
            method(bidi, readingHeaders(ServerCalls.asyncBidiStreamingCall(stream))));
    return GuardedService.withMethods(
        service,
        method -> own.getOrDefault(method.getMethodDescriptor().getFullMethodName(), method));
  }

  private static ServerMethodDefinition<InferMessage, EncodedMessage> method(
      MethodDescriptor<?, ?> descriptor, ServerCallHandler<InferMessage, EncodedMessage> handler) {
    return ServerMethodDefinition.create(
        descriptor.toBuilder(new Reading(), new Writing()).build(), handler);
  }

  private static <Q, R> ServerCallHandler<Q, R> readingHeaders(ServerCallHandler<Q, R> handler) {
    return (call, headers) -> {
      boolean strict = "true".equals(headers.get(STRICT));
      Context context =
          Context.current()
              .withValues(
                  FAILS_WHOLE, strict, MEMORY, call.getAttributes().get(ConnectionMemory.KEY));
      return Contexts.interceptCall(context, call, headers, handler);
    };
  }

  /** How a {@link GuardedService} reads requests; no other can. */
  private static final class Reading
      implements MethodDescriptor.Marshaller<InferMessage>, MessageReader<InferMessage> {
    @Override
    public InferMessage read(InputStream stream, int length) throws IOException {
      if (stream instanceof ReceivedMessage received) {
        return RequestWalk.read(
            received.bytes(),
            received.isCollected() ? MessageMemory.COLLECTED : new PooledMemory(received));
      }
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

  /** Of the transport's pool. */
  private record PooledMemory(ReceivedMessage message) implements MessageMemory {
    @Override
    public void hold() {
      message.retain();
    }

    @Override
    public void release() {
      message.release();
    }
  }

  private static final class Writing implements MethodDescriptor.Marshaller<EncodedMessage> {
    @Override
    public InputStream stream(EncodedMessage message) {
      return new EncodedStream(message);
    }

    @Override
    public EncodedMessage parse(InputStream stream) {
      throw new UnsupportedOperationException("a server writes answers and reads none");
    }
  }
}
