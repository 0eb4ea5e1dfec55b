package dev.roundhouse.transport.http2;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Methods whose messages are bytes. */
public final class TestService {
  public static final Metadata.Key<String> TEXT =
      Metadata.Key.of("test-text", Metadata.ASCII_STRING_MARSHALLER);
  public static final Metadata.Key<byte[]> BYTES =
      Metadata.Key.of("test-bytes-bin", Metadata.BINARY_BYTE_MARSHALLER);

  /** Answers with what was sent. */
  public static final MethodDescriptor<byte[], byte[]> ECHO = method("Echo", MethodType.UNARY);

  /** Fails with the message as its text. */
  public static final MethodDescriptor<byte[], byte[]> FAIL = method("Fail", MethodType.UNARY);

  /** Throws. */
  public static final MethodDescriptor<byte[], byte[]> THROW = method("Throw", MethodType.UNARY);

  /** Answers when {@link #letGo} is called, or never. */
  public static final MethodDescriptor<byte[], byte[]> WAIT = method("Wait", MethodType.UNARY);

  /** Answers every message. */
  public static final MethodDescriptor<byte[], byte[]> CHAT =
      method("Chat", MethodType.BIDI_STREAMING);

  /** Answers with as many messages as the request's length says, while the client reads. */
  public static final MethodDescriptor<byte[], byte[]> FLOOD =
      method("Flood", MethodType.SERVER_STREAMING);

  /** Answers with the bytes of all messages. */
  public static final MethodDescriptor<byte[], byte[]> GATHER =
      method("Gather", MethodType.CLIENT_STREAMING);

  /** Takes no message until it is let go. */
  public static final MethodDescriptor<byte[], byte[]> DEAF =
      method("Deaf", MethodType.BIDI_STREAMING);

  public static final int FLOOD_BYTES = 10_000;

  public final AtomicInteger cancelled = new AtomicInteger();
  public final AtomicInteger completed = new AtomicInteger();
  public final AtomicInteger flooded = new AtomicInteger();
  public final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
  public final CountDownLatch arrived = new CountDownLatch(1);
  public volatile @Nullable Deadline lastDeadline;

  public static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder(Raw.INSTANCE, Raw.INSTANCE)
        .setType(type)
        .setFullMethodName("test.Test/" + name)
        .build();
  }

  public ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder("test.Test")
        .addMethod(ECHO, ServerCalls.asyncUnaryCall(this::echo))
        .addMethod(
            FAIL,
            ServerCalls.asyncUnaryCall(
                (text, out) ->
                    out.onError(
                        Status.ABORTED
                            .withDescription(new String(text, StandardCharsets.UTF_8))
                            .asRuntimeException())))
        .addMethod(
            THROW,
            ServerCalls.asyncUnaryCall(
                (text, out) -> {
                  if (text.length > 0) {
                    out.onNext(text);
                  }
                  throw new IllegalStateException("on purpose");
                }))
        .addMethod(WAIT, ServerCalls.asyncUnaryCall(this::await))
        .addMethod(CHAT, ServerCalls.asyncBidiStreamingCall(this::chat))
        .addMethod(FLOOD, ServerCalls.asyncServerStreamingCall(this::flood))
        .addMethod(GATHER, ServerCalls.asyncClientStreamingCall(TestService::gather))
        .addMethod(DEAF, ServerCalls.asyncBidiStreamingCall(this::deaf))
        .build();
  }

  private void echo(byte[] message, StreamObserver<byte[]> out) {
    lastDeadline = Context.current().getDeadline();
    out.onNext(message);
    out.onCompleted();
  }

  private void await(byte[] message, StreamObserver<byte[]> out) {
    var call = (ServerCallStreamObserver<byte[]>) out;
    call.setOnCancelHandler(cancelled::incrementAndGet);
    call.setOnCloseHandler(completed::incrementAndGet);
    waiting.add(
        () -> {
          call.onNext(message);
          call.onCompleted();
        });
    arrived.countDown();
  }

  /** Lets all that waits go on, on a thread of its own. */
  public void letGo() {
    for (Runnable next = waiting.poll(); next != null; next = waiting.poll()) {
      Thread.ofPlatform().start(next);
    }
  }

  private StreamObserver<byte[]> chat(StreamObserver<byte[]> out) {
    ((ServerCallStreamObserver<byte[]>) out).setOnCancelHandler(cancelled::incrementAndGet);
    return new Each(out) {
      @Override
      public void onNext(byte[] message) {
        out.onNext(message);
      }
    };
  }

  private void flood(byte[] count, StreamObserver<byte[]> out) {
    var call = (ServerCallStreamObserver<byte[]>) out;
    AtomicInteger left = new AtomicInteger(count.length);
    call.setOnCancelHandler(cancelled::incrementAndGet);
    call.setOnReadyHandler(
        () -> {
          while (call.isReady() && left.get() > 0) {
            flooded.incrementAndGet();
            call.onNext(new byte[FLOOD_BYTES]);
            if (left.decrementAndGet() == 0) {
              call.onCompleted();
            }
          }
        });
  }

  private static StreamObserver<byte[]> gather(StreamObserver<byte[]> out) {
    return new Each(out) {
      private int bytes;

      @Override
      public void onNext(byte[] message) {
        bytes += message.length;
      }

      @Override
      public void onCompleted() {
        out.onNext(Integer.toString(bytes).getBytes(StandardCharsets.US_ASCII));
        out.onCompleted();
      }
    };
  }

  private StreamObserver<byte[]> deaf(StreamObserver<byte[]> out) {
    var call = (ServerCallStreamObserver<byte[]>) out;
    call.disableAutoRequest();
    waiting.add(() -> call.request(Integer.MAX_VALUE));
    arrived.countDown();
    return chat(out);
  }

  private abstract static class Each implements StreamObserver<byte[]> {
    private final StreamObserver<byte[]> out;

    Each(StreamObserver<byte[]> out) {
      this.out = out;
    }

    @Override
    public void onError(Throwable cancelled) {}

    @Override
    public void onCompleted() {
      out.onCompleted();
    }
  }

  /** Sends what it finds in the request's metadata back, as headers and as trailers. */
  static final class Reflecting implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      return next.startCall(
          new SimpleForwardingServerCall<Q, R>(call) {
            @Override
            public void sendHeaders(Metadata answer) {
              copy(headers, answer);
              super.sendHeaders(answer);
            }

            @Override
            public void close(Status status, Metadata trailers) {
              copy(headers, trailers);
              super.close(status, trailers);
            }
          },
          headers);
    }

    private static void copy(Metadata from, Metadata to) {
      String text = from.get(TEXT);
      if (text != null) {
        to.put(TEXT, text);
      }
      byte[] bytes = from.get(BYTES);
      if (bytes != null) {
        to.put(BYTES, bytes);
      }
    }
  }

  private enum Raw implements MethodDescriptor.Marshaller<byte[]> {
    INSTANCE;

    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
