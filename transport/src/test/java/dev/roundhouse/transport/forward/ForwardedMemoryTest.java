package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.transport.http2.GrpcContract;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.http2.RawClient;
import dev.roundhouse.transport.http2.TestService;
import dev.roundhouse.transport.io.Leaks;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is held of calls that are sent on, when either side does not take it. */
@Timeout(60)
class ForwardedMemoryTest {
  private static final int LIMIT = 8 << 20;

  private final TestService service = new TestService();
  private final ForwardingBudget memory = new ForwardingBudget(LIMIT, "raise it");
  private final List<ClientCall<byte[], byte[]>> open = new ArrayList<>();
  private final AtomicLong most = new AtomicLong();
  private final AtomicBoolean over = new AtomicBoolean();
  private Thread watch;
  private Server back;
  private Server front;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws Exception {
    back = behind(GrpcContract.ANY_PORT);
    front =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .forward(
                new GrpcForwarder(
                    new Front.Everything(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), back.getPort())),
                    memory))
            .streamWindow(8 << 20)
            .maxInboundMessageSize(64 << 20)
            .build()
            .start();
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", front.getPort())
            .usePlaintext()
            .maxInboundMessageSize(64 << 20)
            .build();
    watch =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!over.get()) {
                    most.accumulateAndGet(memory.held(), Math::max);
                    Thread.onSpinWait();
                  }
                });
  }

  @AfterEach
  void stop() throws Exception {
    open.forEach(call -> call.cancel("the test is over", null));
    GrpcContract.await(() -> memory.held() == 0);
    byte[] message = new byte[3 << 20];
    new Random(7).nextBytes(message);
    assertThat(echo(message)).as("everything is as it was").isEqualTo(message);
    over.set(true);
    watch.join();
    assertThat(most.get()).isLessThanOrEqualTo(LIMIT);
    channel.shutdownNow();
    assertThat(front.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    assertThat(back.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    Leaks.awaitNone();
    assertThat(memory.held()).isZero();
  }

  @Test
  void shouldHoldLittleOfARequestThatIsNotTaken() throws Exception {
    Ended end = send(TestService.DEAF, new byte[20 << 20]);
    service.arrived.await();
    awaitStill();
    assertThat(memory.held()).isBetween(1L, 1L << 20);
    assertThat(echo(new byte[2 << 20])).hasSize(2 << 20);
    service.letGo();
    assertThat(end.status.get(60, TimeUnit.SECONDS).getCode()).isEqualTo(Status.Code.OK);
    assertThat(end.bytes).isEqualTo(20 << 20);
  }

  @Test
  void shouldHoldLittleOfAnAnswerThatIsNotRead() throws Exception {
    try (RawClient client = new RawClient(front.getPort()).settings()) {
      client.call(1, "Flood", 1000); // ten million bytes, of which the client may be sent 64 KiB
      awaitStill();
      assertThat(memory.held()).isBetween(1L, 1L << 20);
      assertThat(echo(new byte[2 << 20])).hasSize(2 << 20);
    }
  }

  @Test
  void shouldRefuseACallThatCannotBegin() throws Exception {
    fill();
    Status refusal = refusal();
    assertThat(refusal.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refusal.getDescription())
        .matches(
            "calls that are sent on hold \\d+ bytes, this one needs \\d+ more, and the limit is 6291456 for calls that begin, of 8388608; retry later, or raise it");
  }

  @Test
  void shouldHoldUpAndNotEndWhatHasBegun() throws Exception {
    List<Ended> ends = fill();
    service.letGo();
    letGoUntil(ends);
    for (Ended end : ends) {
      Status status = end.status.get(60, TimeUnit.SECONDS);
      assertThat(status.isOk() || String.valueOf(status).contains("for calls that begin"))
          .as(status.toString())
          .isTrue();
    }
    assertThat(ends).filteredOn(end -> end.status.join().isOk()).hasSizeGreaterThan(10);
  }

  @Test
  void shouldCarryMoreThanItMayHold() throws Exception {
    List<Ended> ends = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      ends.add(send(TestService.ECHO, new byte[4 << 20]));
    }
    for (Ended end : ends) {
      Ended last = end;
      // one that begins, or that sends more than it was asked for when there is nothing left
      while (last.status.get(60, TimeUnit.SECONDS).getCode() == Status.Code.RESOURCE_EXHAUSTED) {
        last = send(TestService.ECHO, new byte[4 << 20]);
      }
      assertThat(last.status.join()).isEqualTo(Status.OK);
      assertThat(last.bytes).isEqualTo(4 << 20);
    }
  }

  @Test
  void shouldGiveBackWhatIsHeldOfAServerThatDies() throws Exception {
    List<Ended> ends = fill();
    int port = back.getPort();
    back.shutdownNow();
    for (Ended end : ends) {
      assertThat(end.status.get(60, TimeUnit.SECONDS).isOk()).isFalse();
    }
    GrpcContract.await(() -> memory.held() == 0);
    assertThat(back.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    back = behind(new InetSocketAddress("127.0.0.1", port));
  }

  @Test
  void shouldGiveBackWhatIsHeldAtADeadline() throws Exception {
    Ended end =
        send(
            TestService.DEAF,
            new byte[20 << 20],
            CallOptions.DEFAULT.withDeadlineAfter(2, TimeUnit.SECONDS));
    GrpcContract.await(() -> memory.held() > 0);
    assertThat(end.status.get(60, TimeUnit.SECONDS).getCode())
        .isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    GrpcContract.await(() -> memory.held() == 0);
  }

  @Test
  void shouldGiveBackWhatIsHeldOfAClientThatIsGone() throws Exception {
    try (RawClient client = new RawClient(front.getPort()).settings()) {
      client.call(1, "Flood", 1000);
      client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 3, RawClient.call("Deaf"));
      client.frame(RawClient.DATA, 0, 3, RawClient.message(16_000));
      awaitStill();
      assertThat(memory.held()).isPositive();
      client.frame(RawClient.RST_STREAM, 0, 1, RawClient.number(8));
    }
    GrpcContract.await(() -> memory.held() == 0);
  }

  // --- of this test

  /** One that takes 64 KiB of a message that its service has not asked for. */
  private Server behind(SocketAddress address) throws IOException {
    return NettyServerBuilder.forAddress(address)
        .addService(service.definition())
        .flowControlWindow(1 << 16)
        .maxInboundMessageSize(64 << 20)
        .build()
        .start();
  }

  /** Calls that nobody takes, until no further one may begin. */
  private List<Ended> fill() throws Exception {
    List<Ended> ends = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Ended end = send(TestService.DEAF, new byte[4 << 20]);
      ends.add(end);
      awaitStill();
      if (end.status.isDone()) {
        return ends;
      }
    }
    throw new AssertionError("100 calls have begun, with " + memory.held() + " bytes held");
  }

  private void letGoUntil(List<Ended> ends) {
    GrpcContract.await(
        () -> {
          service.letGo();
          return ends.stream().allMatch(end -> end.status.isDone());
        });
  }

  private Status refusal() {
    return catchThrowableOfType(StatusRuntimeException.class, () -> echo(new byte[1 << 20]))
        .getStatus();
  }

  private byte[] echo(byte[] message) {
    return ClientCalls.blockingUnaryCall(
        channel,
        TestService.ECHO,
        CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS),
        message);
  }

  /** Waits until what is held has not changed for a while. */
  private void awaitStill() {
    long[] seen = {-1, System.nanoTime()};
    GrpcContract.await(
        () -> {
          long now = memory.held();
          if (now != seen[0] || now == 0) {
            seen[0] = now;
            seen[1] = System.nanoTime();
          }
          return System.nanoTime() - seen[1] > 200_000_000;
        });
  }

  private Ended send(MethodDescriptor<byte[], byte[]> method, byte[] message) {
    return send(method, message, CallOptions.DEFAULT);
  }

  private Ended send(MethodDescriptor<byte[], byte[]> method, byte[] message, CallOptions options) {
    ClientCall<byte[], byte[]> call = channel.newCall(method, options);
    open.add(call);
    Ended end = new Ended();
    call.start(end, new Metadata());
    call.request(Integer.MAX_VALUE);
    call.sendMessage(message);
    call.halfClose();
    return end;
  }

  private static final class Ended extends ClientCall.Listener<byte[]> {
    final CompletableFuture<Status> status = new CompletableFuture<>();
    volatile int bytes;

    @Override
    public void onMessage(byte[] message) {
      bytes += message.length;
    }

    @Override
    public void onClose(Status end, Metadata trailers) {
      status.complete(end);
    }
  }
}
