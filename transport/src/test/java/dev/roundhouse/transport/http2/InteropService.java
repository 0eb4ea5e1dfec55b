package dev.roundhouse.transport.http2;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** The service that gRPC's own interoperability clients call. */
final class InteropService {
  private static final String NAME = "grpc.testing.TestService";
  private static final Metadata.Key<String> ECHO_FIRST =
      Metadata.Key.of("x-grpc-test-echo-initial", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> ECHO_LAST =
      Metadata.Key.of("x-grpc-test-echo-trailing-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private InteropService() {}

  static ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder(NAME)
        .addMethod(
            method("EmptyCall", MethodType.UNARY),
            ServerCalls.asyncUnaryCall(
                (request, out) -> {
                  out.onNext(new byte[0]);
                  out.onCompleted();
                }))
        .addMethod(
            method("UnaryCall", MethodType.UNARY),
            ServerCalls.asyncUnaryCall(InteropService::unary))
        .addMethod(
            method("StreamingOutputCall", MethodType.SERVER_STREAMING),
            ServerCalls.asyncServerStreamingCall(
                (request, out) -> {
                  if (answer(Request.read(request), out)) {
                    out.onCompleted();
                  }
                }))
        .addMethod(
            method("StreamingInputCall", MethodType.CLIENT_STREAMING),
            ServerCalls.asyncClientStreamingCall(InteropService::gather))
        .addMethod(
            method("FullDuplexCall", MethodType.BIDI_STREAMING),
            ServerCalls.asyncBidiStreamingCall(InteropService::chat))
        .build();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return TestService.ECHO.toBuilder().setType(type).setFullMethodName(NAME + "/" + name).build();
  }

  private static void unary(byte[] message, StreamObserver<byte[]> out) {
    Request request = Request.read(message);
    if (request.fails(out)) {
      return;
    }
    out.onNext(field(1, payload(request.size)));
    out.onCompleted();
  }

  /** False when the call has failed as it was asked to. */
  private static boolean answer(Request request, StreamObserver<byte[]> out) {
    if (request.fails(out)) {
      return false;
    }
    request.sizes.forEach(size -> out.onNext(field(1, payload(size))));
    return true;
  }

  private static StreamObserver<byte[]> chat(StreamObserver<byte[]> out) {
    return new StreamObserver<>() {
      private boolean failed;

      @Override
      public void onNext(byte[] message) {
        failed = failed || !answer(Request.read(message), out);
      }

      @Override
      public void onError(Throwable cancelled) {}

      @Override
      public void onCompleted() {
        if (!failed) {
          out.onCompleted();
        }
      }
    };
  }

  private static StreamObserver<byte[]> gather(StreamObserver<byte[]> out) {
    return new StreamObserver<>() {
      private int bytes;

      @Override
      public void onNext(byte[] message) {
        bytes += bodyBytes(message);
      }

      @Override
      public void onError(Throwable cancelled) {}

      @Override
      public void onCompleted() {
        out.onNext(
            encoded(
                with -> {
                  with.writeInt32(1, bytes);
                }));
        out.onCompleted();
      }
    };
  }

  private static int bodyBytes(byte[] message) {
    try {
      CodedInputStream in = CodedInputStream.newInstance(message);
      int bytes = 0;
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) == 1) {
          CodedInputStream payload = CodedInputStream.newInstance(in.readByteArray());
          for (int inner = payload.readTag(); inner != 0; inner = payload.readTag()) {
            if (WireFormat.getTagFieldNumber(inner) == 2) {
              bytes += payload.readByteArray().length;
            } else {
              payload.skipField(inner);
            }
          }
        } else {
          in.skipField(tag);
        }
      }
      return bytes;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] payload(int size) {
    return encoded(out -> out.writeByteArray(2, new byte[size]));
  }

  private static byte[] field(int number, byte[] message) {
    return encoded(out -> out.writeByteArray(number, message));
  }

  private static byte[] encoded(Writing writing) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      writing.write(out);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private interface Writing {
    void write(CodedOutputStream out) throws IOException;
  }

  /** What both kinds of requests ask for. */
  private static final class Request {
    private final List<Integer> sizes = new ArrayList<>();
    private int size;
    private int code;
    private String text = "";

    static Request read(byte[] message) {
      Request request = new Request();
      try {
        CodedInputStream in = CodedInputStream.newInstance(message);
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
          switch (tag) {
            case 2 << 3 -> request.size = in.readInt32();
            case 2 << 3 | 2 -> request.readSize(in.readByteArray());
            case 7 << 3 | 2 -> request.readStatus(in.readByteArray());
            default -> in.skipField(tag);
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return request;
    }

    private void readSize(byte[] parameters) throws IOException {
      CodedInputStream in = CodedInputStream.newInstance(parameters);
      int wanted = 0;
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) == 1) {
          wanted = in.readInt32();
        } else {
          in.skipField(tag);
        }
      }
      sizes.add(wanted);
    }

    private void readStatus(byte[] status) throws IOException {
      CodedInputStream in = CodedInputStream.newInstance(status);
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        switch (WireFormat.getTagFieldNumber(tag)) {
          case 1 -> code = in.readInt32();
          case 2 -> text = in.readString();
          default -> in.skipField(tag);
        }
      }
    }

    boolean fails(StreamObserver<byte[]> out) {
      if (code == 0) {
        return false;
      }
      out.onError(Status.fromCodeValue(code).withDescription(text).asRuntimeException());
      return true;
    }
  }

  /** Sends two fields of a client's metadata back. */
  static final class EchoMetadata implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      return next.startCall(
          new SimpleForwardingServerCall<Q, R>(call) {
            @Override
            public void sendHeaders(Metadata answer) {
              String first = headers.get(ECHO_FIRST);
              if (first != null) {
                answer.put(ECHO_FIRST, first);
              }
              super.sendHeaders(answer);
            }

            @Override
            public void close(Status status, Metadata trailers) {
              byte[] last = headers.get(ECHO_LAST);
              if (last != null) {
                trailers.put(ECHO_LAST, last);
              }
              super.close(status, trailers);
            }
          },
          headers);
    }
  }
}
