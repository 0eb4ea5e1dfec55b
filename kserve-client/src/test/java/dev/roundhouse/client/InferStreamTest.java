package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.client.StreamAnswer.Answered;
import dev.roundhouse.client.StreamAnswer.Failed;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InferStreamTest {
  private final FakeServer server;
  private final KServeClient client;

  InferStreamTest() throws Exception {
    server = new FakeServer();
    client = KServeClient.to(server.address()).build();
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  @Test
  void shouldAnswerInOrderAndGoOnAfterAnError() throws Exception {
    try (InferStream stream = client.stream()) {
      stream.send(InferTest.doubling(1).id("1").build());
      stream.send(InferRequest.to("nobody").input("x", Tensor.of(new int[1])).id("2").build());
      stream.send(InferTest.doubling(3).id("3").build());
      stream.halfClose();

      assertThat(answered(stream, "1").output("y").floats()).containsExactly(2);
      assertThat(stream.next()).get().isEqualTo(new Failed("2", "unknown model 'nobody'"));
      assertThat(answered(stream, "3").output("y").floats()).containsExactly(6);
      assertThat(stream.next()).isEmpty();
      assertThatThrownBy(() -> stream.send(InferTest.doubling(1).build()))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  private static InferResult answered(InferStream stream, String id) throws Exception {
    StreamAnswer answer = stream.next().orElseThrow();
    assertThat(answer.id()).isEqualTo(id);
    assertThat(answer).isInstanceOf(Answered.class);
    return ((Answered) answer).result();
  }

  @Test
  void shouldHaveTakenTheTensorWhenSendReturns() throws Exception {
    try (InferStream stream = client.stream()) {
      float[] values = {1};
      Tensor reused = Tensor.of(values, 1, 1);
      for (int i = 0; i < 100; i++) {
        values[0] = i;
        stream.send(InferRequest.to("double").input("x", reused).build());
        if (i % 10 == 9) {
          for (int j = i - 9; j <= i; j++) {
            StreamAnswer answer = stream.next().orElseThrow();
            assertThat(((Answered) answer).result().output("y").floats()).containsExactly(2 * j);
          }
        }
      }
    }
  }

  @Test
  void shouldTellTheServerWhenItIsClosed() throws Exception {
    InferStream stream = client.stream();
    stream.send(InferTest.doubling(1).build());
    server.arrival();
    stream.close();
    InferTest.await("the server hears of it", () -> server.cancelled.get() == 1);
    KServeException failure = catchThrowableOfType(KServeException.class, () -> drain(stream));
    assertThat(failure.code()).isEqualTo(Status.Code.CANCELLED);
  }

  private static void drain(InferStream stream) throws InterruptedException {
    Optional<StreamAnswer> next = stream.next();
    while (next.isPresent()) {
      next = stream.next();
    }
  }

  @Test
  void shouldEndWithItsDeadline() throws Exception {
    try (InferStream stream = client.stream(Duration.ofMillis(100))) {
      KServeException failure = catchThrowableOfType(KServeException.class, stream::next);
      assertThat(failure.code()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    }
  }

  @Test
  void shouldFailToSendWhereThereIsNoServer() throws Exception {
    String address = server.address();
    server.close();
    try (KServeClient lonely = KServeClient.to(address).build();
        InferStream stream = lonely.stream()) {
      KServeException failure =
          catchThrowableOfType(
              KServeException.class, () -> stream.send(InferTest.doubling(1).build()));
      assertThat(failure.code()).isEqualTo(Status.Code.UNAVAILABLE);
    }
  }

  @Test
  void shouldWaitForAServerThatReadsSlowly() throws Exception {
    CompletableFuture<ServerCallStreamObserver<ModelStreamInferResponse>> opened =
        new CompletableFuture<>();
    Server slow =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .flowControlWindow(64 << 10)
            .addService(new Unread(opened))
            .build()
            .start();
    try (KServeClient other = KServeClient.to("127.0.0.1:" + slow.getPort()).build();
        InferStream stream = other.stream()) {
      InferRequest large = InferTest.doubling(new float[1 << 14]).build(); // 64 KiB
      stream.send(large); // waits for the connection
      int sent = 1;
      while (stream.send(large, Duration.ofMillis(200))) {
        sent++;
        assertThat(sent).as("requests in memory for a server that reads none").isLessThan(100);
      }
      assertThat(stream.ready()).isFalse();
      opened.get(30, TimeUnit.SECONDS).request(1000);
      stream.send(large); // returns, now that it reads
    } finally {
      slow.shutdownNow();
    }
  }

  /** A service that takes no request until it is told to. */
  private static final class Unread extends GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase {
    private final CompletableFuture<ServerCallStreamObserver<ModelStreamInferResponse>> opened;

    Unread(CompletableFuture<ServerCallStreamObserver<ModelStreamInferResponse>> opened) {
      this.opened = opened;
    }

    @Override
    public StreamObserver<ModelInferRequest> modelStreamInfer(
        StreamObserver<ModelStreamInferResponse> observer) {
      var call = (ServerCallStreamObserver<ModelStreamInferResponse>) observer;
      call.disableAutoRequest();
      opened.complete(call);
      return new StreamObserver<>() {
        @Override
        public void onNext(ModelInferRequest request) {}

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
      };
    }
  }
}
