package dev.roundhouse.transport.io;

import com.google.protobuf.Empty;
import io.grpc.BindableService;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ClientCalls;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.internal.ThreadExecutorMap;
import java.io.InputStream;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** A service that ends the event loop on which it is called; for tests of other modules too. */
public final class LoopEnd implements BindableService {
  private static final String NAME = "roundhouse.test.Loops";
  private static final MethodDescriptor<Empty, Empty> END =
      MethodDescriptor.<Empty, Empty>newBuilder(new Nothing(), new Nothing())
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(NAME + "/End")
          .build();

  @Override
  public ServerServiceDefinition bindService() {
    return ServerServiceDefinition.builder(NAME)
        .addMethod(
            END,
            (call, headers) -> {
              ofThisThread();
              return new ServerCall.Listener<>() {};
            })
        .build();
  }

  /** Ends the event loop that the caller is on, and no other of its server's. */
  public static void ofThisThread() {
    EventExecutor loop = Objects.requireNonNull(ThreadExecutorMap.currentExecutor());
    var unused = loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }

  /** Has the loop of this channel's connection end; its call is not answered. */
  public static void by(Channel channel) {
    var unused =
        ClientCalls.futureUnaryCall(
            channel.newCall(END, CallOptions.DEFAULT), Empty.getDefaultInstance());
  }

  private static final class Nothing implements MethodDescriptor.PrototypeMarshaller<Empty> {
    @Override
    public InputStream stream(Empty message) {
      return InputStream.nullInputStream();
    }

    @Override
    public Empty parse(InputStream stream) {
      return Empty.getDefaultInstance();
    }

    @Override
    public Empty getMessagePrototype() {
      return Empty.getDefaultInstance();
    }

    @Override
    public Class<Empty> getMessageClass() {
      return Empty.class;
    }
  }
}
