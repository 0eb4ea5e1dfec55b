package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.RequestParser;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.platform.grpc.AccessGate;
import dev.roundhouse.platform.grpc.GuardedService;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.ReceivedMessage;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.worker.trace.RequestSpans;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.SpanContext;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** ModelInfer and ModelStreamInfer, without protobuf objects for messages. */
final class InferMethods {
  /** Whether a stream's client wants the first failure to end the stream with its status. */
  static final Context.Key<Boolean> FAILS_WHOLE =
      Context.keyWithDefault("triton-grpc-error", false);

  /** Memory of the stream's connection; null when not counted. */
  static final Context.Key<@Nullable ConnectionMemory> MEMORY = Context.key("connection-memory");

  private static final Metadata.Key<String> STRICT =
      Metadata.Key.of("triton_grpc_error", Metadata.ASCII_STRING_MARSHALLER);

  private InferMethods() {}

  /** ModelInfer with its caller. */
  interface Unary {
    /**
     * @param rights of the caller; null when nothing is checked
     * @param spentNanos of the request's own budget
     * @param calledIn the caller's span; invalid for none, null when no request has spans
     */
    void infer(
        InferMessage message,
        int caller,
        @Nullable CallerRights rights,
        long spentNanos,
        @Nullable SpanContext calledIn,
        StreamObserver<EncodedMessage> answer);
  }

  /** ModelStreamInfer with its caller. */
  interface Bidi {
    /**
     * @param rights of the caller; null when nothing is checked
     * @param calledIn the caller's span; invalid for none, null when no request has spans
     */
    StreamObserver<InferMessage> stream(
        int caller,
        @Nullable CallerRights rights,
        @Nullable SpanContext calledIn,
        StreamObserver<EncodedMessage> answers);
  }

  /** The service with these in place of its own two methods. */
  static ServerServiceDefinition in(
      ServerServiceDefinition service, Unary infer, Bidi stream, @Nullable RequestSpans spans) {
    var unary = GRPCInferenceServiceGrpc.getModelInferMethod();
    var bidi = GRPCInferenceServiceGrpc.getModelStreamInferMethod();
    Map<String, ServerMethodDefinition<?, ?>> own =
        Map.of(
            unary.getFullMethodName(),
            method(unary, unary(infer, spans)),
            bidi.getFullMethodName(),
            method(bidi, bidi(stream, spans)));
    return GuardedService.withMethods(
        service,
        method -> own.getOrDefault(method.getMethodDescriptor().getFullMethodName(), method));
  }

  private static ServerMethodDefinition<InferMessage, EncodedMessage> method(
      MethodDescriptor<?, ?> descriptor, ServerCallHandler<InferMessage, EncodedMessage> handler) {
    return ServerMethodDefinition.create(
        descriptor.toBuilder(new Reading(), new Writing()).build(), handler);
  }

  private static ServerCallHandler<InferMessage, EncodedMessage> unary(
      Unary infer, @Nullable RequestSpans spans) {
    return (call, headers) -> {
      int caller = CallHeaders.caller(call, headers);
      CallerRights rights = AccessGate.rights();
      long spent = CallHeaders.spentNanos(headers);
      SpanContext calledIn = CallHeaders.calledIn(headers, spans);
      return ServerCalls.<InferMessage, EncodedMessage>asyncUnaryCall(
              (message, answer) -> infer.infer(message, caller, rights, spent, calledIn, answer))
          .startCall(call, headers);
    };
  }

  private static ServerCallHandler<InferMessage, EncodedMessage> bidi(
      Bidi stream, @Nullable RequestSpans spans) {
    return (call, headers) -> {
      int caller = CallHeaders.caller(call, headers);
      CallerRights rights = AccessGate.rights();
      SpanContext calledIn = CallHeaders.calledIn(headers, spans);
      ServerCallHandler<InferMessage, EncodedMessage> handler =
          ServerCalls.asyncBidiStreamingCall(
              answers -> stream.stream(caller, rights, calledIn, answers));
      boolean strict = "true".equals(headers.get(STRICT));
      Context context =
          Context.current()
              .withValues(
                  FAILS_WHOLE, strict, MEMORY, call.getAttributes().get(ConnectionMemory.KEY));
      return Contexts.interceptCall(context, call, headers, handler);
    };
  }

  private static final class Reading extends RequestReader<InferMessage> {
    @Override
    public InferMessage read(InputStream stream, int length) throws IOException {
      if (stream instanceof ReceivedMessage received) {
        return RequestParser.read(received.bytes(), PooledMemory.of(received));
      }
      return RequestParser.read(stream, length);
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
