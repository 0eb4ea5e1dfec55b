package dev.roundhouse.client;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** The calls that carry tensors, whose messages are copied once in each direction. */
final class Methods {
  static final MethodDescriptor<OutgoingMessage, ModelInferResponse> INFER =
      GRPCInferenceServiceGrpc.getModelInferMethod().toBuilder(
              new Requests(), new Responses<>(ModelInferResponse.parser()))
          .build();

  static final MethodDescriptor<OutgoingMessage, ModelStreamInferResponse> STREAM =
      GRPCInferenceServiceGrpc.getModelStreamInferMethod().toBuilder(
              new Requests(), new Responses<>(ModelStreamInferResponse.parser()))
          .build();

  private Methods() {}

  private static final class Requests implements MethodDescriptor.Marshaller<OutgoingMessage> {
    @Override
    public InputStream stream(OutgoingMessage message) {
      return message.stream();
    }

    @Override
    public OutgoingMessage parse(InputStream stream) {
      throw new UnsupportedOperationException("a client reads no requests");
    }
  }

  /** Reads a message into one array, of which its tensors are parts. */
  private static final class Responses<T> implements MethodDescriptor.Marshaller<T> {
    private final Parser<T> parser;

    Responses(Parser<T> parser) {
      this.parser = parser;
    }

    @Override
    public InputStream stream(T message) {
      throw new UnsupportedOperationException("a client sends no responses");
    }

    @Override
    public T parse(InputStream stream) {
      try {
        byte[] bytes;
        if (stream instanceof KnownLength) {
          bytes = new byte[stream.available()];
          int count = stream.readNBytes(bytes, 0, bytes.length);
          if (count < bytes.length) {
            throw new EOFException("%d of %d bytes".formatted(count, bytes.length));
          }
        } else { // it was compressed
          bytes = stream.readAllBytes();
        }
        CodedInputStream in = UnsafeByteOperations.unsafeWrap(bytes).newCodedInput();
        in.enableAliasing(true);
        T message = parser.parseFrom(in);
        in.checkLastTagWas(0);
        return message;
      } catch (InvalidProtocolBufferException e) {
        throw Status.INTERNAL
            .withDescription("the server's answer is no message: " + e.getMessage())
            .withCause(e)
            .asRuntimeException();
      } catch (IOException e) {
        throw Status.INTERNAL
            .withDescription("the server's answer cannot be read")
            .withCause(e)
            .asRuntimeException();
      }
    }
  }
}
