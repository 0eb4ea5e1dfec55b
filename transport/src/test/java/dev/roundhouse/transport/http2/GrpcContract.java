package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.transport.io.Leaks;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What gRPC promises its users: held by this server and by grpc-java's, with the same client. */
@Timeout(60)
public abstract class GrpcContract {
  public static final InetSocketAddress ANY_PORT =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private static final int MAX_MESSAGE = 4 << 20;

  final TestService service = new TestService();
  private final List<Server> servers = new ArrayList<>();
  private final List<ManagedChannel> channels = new ArrayList<>();

  protected abstract ServerBuilder<?> builder();

  /** What a message ends with that is larger than allowed when it has been uncompressed. */
  protected abstract Status.Code tooLargeUncompressed();

  @AfterEach
  void stop() throws InterruptedException {
    for (ManagedChannel channel : channels) {
      channel.shutdownNow();
    }
    for (Server server : servers) {
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    Leaks.awaitNone();
  }

  private Server start(UnaryOperator<ServerBuilder<?>> settings) throws Exception {
    Server server =
        settings
            .apply(builder().addService(service.definition()).maxInboundMessageSize(MAX_MESSAGE))
            .intercept(new TestService.Reflecting())
            .build()
            .start();
    servers.add(server);
    return server;
  }

  private ManagedChannel channel() throws Exception {
    return channel(start(UnaryOperator.identity()));
  }

  private ManagedChannel channel(Server server) {
    return channel(server, UnaryOperator.identity());
  }

  private ManagedChannel channel(Server server, UnaryOperator<NettyChannelBuilder> settings) {
    ManagedChannel channel =
        settings
            .apply(
                NettyChannelBuilder.forAddress("127.0.0.1", server.getPort())
                    .usePlaintext()
                    .maxInboundMessageSize(2 * MAX_MESSAGE))
            .build();
    channels.add(channel);
    return channel;
  }

  private static byte[] call(
      ManagedChannel channel, MethodDescriptor<byte[], byte[]> method, byte[] message) {
    return ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, message);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Status statusOf(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run).getStatus();
  }

  public static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
      if (Thread.currentThread().isInterrupted()) {
        throw new IllegalStateException("the test's time is over");
      }
    }
  }

  @Test
  void shouldCarryMessagesOfAnySize() throws Exception {
    ManagedChannel channel = channel();
    Random random = new Random(1);
    for (int size : new int[] {0, 1, 4, 16_379, 16_384, 65_536, 65_537, 1 << 20, MAX_MESSAGE}) {
      byte[] message = new byte[size];
      random.nextBytes(message);
      assertThat(call(channel, TestService.ECHO, message)).isEqualTo(message);
    }
  }

  @Test
  void shouldRefuseALargerMessage() throws Exception {
    Status status =
        statusOf(
            () -> {
              try {
                call(channel(), TestService.ECHO, new byte[MAX_MESSAGE + 1]);
              } catch (RuntimeException e) {
                throw e;
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription())
        .isEqualTo("gRPC message exceeds maximum size 4194304: 4194305");
  }

  @Test
  void shouldCarryMetadata() throws Exception {
    Metadata sent = new Metadata();
    sent.put(TestService.TEXT, "text, with commas");
    sent.put(TestService.BYTES, new byte[] {0, -1, 127, 10});
    AtomicReference<Metadata> headers = new AtomicReference<>();
    AtomicReference<Metadata> trailers = new AtomicReference<>();
    var channel =
        ClientInterceptors.intercept(
            channel(),
            MetadataUtils.newAttachHeadersInterceptor(sent),
            MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));

    ClientCalls.blockingUnaryCall(channel, TestService.ECHO, CallOptions.DEFAULT, new byte[0]);

    for (Metadata received : List.of(headers.get(), trailers.get())) {
      assertThat(received.get(TestService.TEXT)).isEqualTo("text, with commas");
      assertThat(received.get(TestService.BYTES)).isEqualTo(new byte[] {0, -1, 127, 10});
    }
  }

  @Test
  void shouldTellWhyACallFailed() throws Exception {
    ManagedChannel channel = channel();
    for (String text : List.of("plain", "100 % \t\n\r ü €", "\u0000\u0007", "")) {
      Status status = statusOf(() -> call(channel, TestService.FAIL, bytes(text)));
      assertThat(status.getCode()).isEqualTo(Status.Code.ABORTED);
      assertThat(Objects.requireNonNullElse(status.getDescription(), "")).isEqualTo(text);
    }
  }

  @Test
  void shouldSurviveAServiceThatThrows() throws Exception {
    ManagedChannel channel = channel();
    for (byte[] answeredBefore : List.of(new byte[0], bytes("an answer without a status"))) {
      assertThat(statusOf(() -> call(channel, TestService.THROW, answeredBefore)).getCode())
          .isEqualTo(Status.Code.UNKNOWN);
    }
    assertThat(call(channel, TestService.ECHO, bytes("after"))).isEqualTo(bytes("after"));
  }

  @Test
  void shouldRefuseMethodsThatThereAreNot() throws Exception {
    ManagedChannel channel = channel();
    Status status =
        statusOf(
            () ->
                call(
                    channel,
                    TestService.method("None", MethodDescriptor.MethodType.UNARY),
                    new byte[3]));
    assertThat(status.getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(status.getDescription()).isEqualTo("Method not found: test.Test/None");
  }

  @Test
  void shouldReadAndWriteCompressedMessages() throws Exception {
    ManagedChannel channel = channel();
    byte[] message = new byte[200_000];
    assertThat(
            ClientCalls.blockingUnaryCall(
                channel, TestService.ECHO, CallOptions.DEFAULT.withCompression("gzip"), message))
        .isEqualTo(message);
  }

  @Test
  void shouldRefuseACompressedMessageThatGrowsTooLarge() throws Exception {
    ManagedChannel channel = channel();
    Status status =
        statusOf(
            () ->
                ClientCalls.blockingUnaryCall(
                    channel,
                    TestService.ECHO,
                    CallOptions.DEFAULT.withCompression("gzip"),
                    new byte[MAX_MESSAGE + 1]));
    assertThat(status.getCode()).isEqualTo(tooLargeUncompressed());
    assertThat(call(channel, TestService.ECHO, bytes("after"))).isEqualTo(bytes("after"));
  }

  @Test
  void shouldTellServicesTheDeadline() throws Exception {
    ManagedChannel channel = channel();
    call(channel, TestService.ECHO, new byte[0]);
    assertThat(service.lastDeadline).isNull();

    ClientCalls.blockingUnaryCall(
        channel,
        TestService.ECHO,
        CallOptions.DEFAULT.withDeadlineAfter(50, TimeUnit.SECONDS),
        new byte[0]);
    assertThat(Objects.requireNonNull(service.lastDeadline).timeRemaining(TimeUnit.SECONDS))
        .isBetween(10L, 50L);
  }

  @Test
  void shouldCancelAtTheDeadline() throws Exception {
    ManagedChannel channel = channel();
    call(channel, TestService.ECHO, new byte[0]); // connects
    Status status =
        statusOf(
            () ->
                ClientCalls.blockingUnaryCall(
                    channel,
                    TestService.WAIT,
                    CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS),
                    new byte[0]));
    assertThat(status.getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    await(() -> service.cancelled.get() == 1);
    service.letGo(); // goes nowhere and harms nobody
    assertThat(call(channel, TestService.ECHO, bytes("after"))).isEqualTo(bytes("after"));
  }

  @Test
  void shouldTellServicesThatTheClientIsGone() throws Exception {
    ManagedChannel channel = channel();
    Context.CancellableContext context = Context.current().withCancellation();
    context.run(() -> ClientCalls.asyncUnaryCall(call(channel), new byte[0], new Answers()));
    service.arrived.await();
    context.cancel(null);
    await(() -> service.cancelled.get() == 1);
    assertThat(service.completed.get()).isZero();
  }

  private static ClientCall<byte[], byte[]> call(ManagedChannel channel) {
    return channel.newCall(TestService.WAIT, CallOptions.DEFAULT);
  }

  @Test
  void shouldTellServicesThatTheConnectionIsGone() throws Exception {
    Server server = start(UnaryOperator.identity());
    ManagedChannel channel = channel(server);
    ClientCalls.asyncUnaryCall(call(channel), new byte[0], new Answers());
    service.arrived.await();
    channel.shutdownNow();
    await(() -> service.cancelled.get() == 1);
  }

  @Test
  void shouldTellServicesThatTheAnswerHasLeft() throws Exception {
    ManagedChannel channel = channel();
    Answers answers = new Answers();
    ClientCalls.asyncUnaryCall(call(channel), bytes("a"), answers);
    service.arrived.await();
    service.letGo();
    assertThat(answers.take()).isEqualTo(bytes("a"));
    await(() -> service.completed.get() == 1);
    assertThat(service.cancelled.get()).isZero();
  }

  @Test
  void shouldStreamBothWaysInOrder() throws Exception {
    ManagedChannel channel = channel();
    Answers answers = new Answers();
    StreamObserver<byte[]> requests =
        ClientCalls.asyncBidiStreamingCall(
            channel.newCall(TestService.CHAT, CallOptions.DEFAULT), answers);
    Random random = new Random(2);
    for (int i = 0; i < 500; i++) {
      byte[] message = new byte[random.nextInt(10) == 0 ? random.nextInt(300_000) : 10];
      message[message.length == 0 ? 0 : message.length - 1] = (byte) i;
      requests.onNext(message);
      assertThat(answers.take()).isEqualTo(message);
    }
    requests.onCompleted();
    assertThat(answers.end().getCode()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldGatherWhatAClientStreams() throws Exception {
    Answers answers = new Answers();
    StreamObserver<byte[]> requests =
        ClientCalls.asyncClientStreamingCall(
            channel().newCall(TestService.GATHER, CallOptions.DEFAULT), answers);
    for (int i = 0; i < 1000; i++) {
      requests.onNext(new byte[i]);
    }
    requests.onCompleted();
    assertThat(new String(answers.take(), StandardCharsets.US_ASCII)).isEqualTo("499500");
    assertThat(answers.end().getCode()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldWaitWithAnswersForAClientThatDoesNotRead() throws Exception {
    ManagedChannel channel =
        channel(start(UnaryOperator.identity()), with -> with.flowControlWindow(1 << 16));
    ClientCall<byte[], byte[]> call = channel.newCall(TestService.FLOOD, CallOptions.DEFAULT);
    BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();
    call.start(addingTo(received), new Metadata());
    call.sendMessage(new byte[1000]);
    call.halfClose();
    call.request(1);
    assertThat(received.take()).hasSize(TestService.FLOOD_BYTES);
    int before;
    do {
      before = service.flooded.get();
      Thread.sleep(200);
    } while (before != service.flooded.get());
    // A window of 64 KiB, what the call may hold back, and a few that are on their way.
    assertThat(before).isLessThan(40);

    call.request(1000);
    for (int i = 1; i < 1000; i++) {
      assertThat(received.take()).hasSize(TestService.FLOOD_BYTES);
    }
  }

  @Test
  void shouldNotReadAheadOfAServiceThatDoesNotAsk() throws Exception {
    ManagedChannel channel = channel();
    ClientCall<byte[], byte[]> call = channel.newCall(TestService.DEAF, CallOptions.DEFAULT);
    BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();
    call.start(addingTo(received), new Metadata());
    call.request(Integer.MAX_VALUE);
    for (int i = 0; i < 100; i++) {
      call.sendMessage(new byte[10_000]);
    }
    service.arrived.await();
    Thread.sleep(200);
    assertThat(call.isReady()).as("its window of 64 KiB is full").isFalse();
    assertThat(received).isEmpty();

    service.letGo();
    for (int i = 0; i < 100; i++) {
      assertThat(received.take()).hasSize(10_000);
    }
    await(call::isReady);
  }

  @Test
  void shouldEndCallsOfAClientThatPingsTooOften() throws Exception {
    Server server = start(with -> with.permitKeepAliveTime(1, TimeUnit.HOURS));
    ManagedChannel channel = channel(server);
    RawClient raw = new RawClient(server.getPort());
    raw.settings();
    raw.pings(20);
    RawClient.Frame goAway = raw.await(RawClient.GOAWAY);
    assertThat(goAway.text()).endsWith("too_many_pings");
    assertThat(call(channel, TestService.ECHO, bytes("other"))).isEqualTo(bytes("other"));
  }

  @Test
  void shouldCloseConnectionsWithoutCalls() throws Exception {
    Server server = start(with -> with.maxConnectionIdle(300, TimeUnit.MILLISECONDS));
    RawClient raw = new RawClient(server.getPort());
    raw.settings();
    raw.await(RawClient.GOAWAY);
  }

  @Test
  void shouldCloseOldConnectionsWhenTheirCallsHaveEnded() throws Exception {
    Server server =
        start(
            with ->
                with.maxConnectionAge(300, TimeUnit.MILLISECONDS)
                    .maxConnectionAgeGrace(1, TimeUnit.MINUTES));
    ManagedChannel channel = channel(server);
    Answers answers = new Answers();
    ClientCalls.asyncUnaryCall(call(channel), bytes("old"), answers);
    service.arrived.await();
    Thread.sleep(800);
    assertThat(call(channel, TestService.ECHO, bytes("new"))).isEqualTo(bytes("new"));
    service.letGo();
    assertThat(answers.take()).isEqualTo(bytes("old"));
  }

  @Test
  void shouldCloseConnectionsOfClientsThatGiveNoSignOfLife() throws Exception {
    Server server =
        start(
            with ->
                with.keepAliveTime(1, TimeUnit.SECONDS)
                    .keepAliveTimeout(300, TimeUnit.MILLISECONDS));
    RawClient raw = new RawClient(server.getPort());
    raw.settings();
    raw.await(RawClient.PING);
    raw.awaitClosed();
  }

  @Test
  void shouldEndCallsUnderWayWhenItStops() throws Exception {
    Server server = start(UnaryOperator.identity());
    ManagedChannel channel = channel(server);
    Answers answers = new Answers();
    ClientCalls.asyncUnaryCall(call(channel), bytes("last"), answers);
    service.arrived.await();

    server.shutdown();
    assertThat(server.awaitTermination(300, TimeUnit.MILLISECONDS)).isFalse();
    service.letGo();

    assertThat(answers.take()).isEqualTo(bytes("last"));
    assertThat(server.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    assertThat(statusOf(() -> call(channel, TestService.ECHO, new byte[0])).getCode())
        .isEqualTo(Status.Code.UNAVAILABLE);
  }

  @Test
  void shouldGiveUpCallsWhenItMustStopNow() throws Exception {
    Server server = start(UnaryOperator.identity());
    Answers answers = new Answers();
    ClientCalls.asyncUnaryCall(call(channel(server)), bytes("lost"), answers);
    service.arrived.await();

    assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();

    assertThat(answers.end().getCode()).isIn(Status.Code.UNAVAILABLE, Status.Code.CANCELLED);
    await(() -> service.cancelled.get() == 1);
    service.letGo();
  }

  /** What a client hears. */
  private static final class Answers implements StreamObserver<byte[]> {
    private final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();

    @Override
    public void onNext(byte[] message) {
      heard.add(message);
    }

    @Override
    public void onError(Throwable failure) {
      heard.add(Status.fromThrowable(failure));
    }

    @Override
    public void onCompleted() {
      heard.add(Status.OK);
    }

    byte[] take() throws InterruptedException {
      Object next = heard.take();
      assertThat(next).isInstanceOf(byte[].class);
      return (byte[]) next;
    }

    Status end() throws InterruptedException {
      Object next = heard.take();
      assertThat(next).isInstanceOf(Status.class);
      return (Status) next;
    }
  }

  private static ClientCall.Listener<byte[]> addingTo(BlockingQueue<byte[]> received) {
    return new ClientCall.Listener<>() {
      @Override
      public void onMessage(byte[] message) {
        received.add(message);
      }
    };
  }
}
