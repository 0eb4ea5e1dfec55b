package dev.roundhouse.benchmarks.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Against grpc-java's own server, which tells when a frame is not as it should be. */
class GrpcClientsTest {
  private static final Duration SHORT = Duration.ofMillis(100);

  private final Echo echo = new Echo();
  private Server server;

  private enum Kind {
    UNARY,
    STREAM;

    ThinClient connect(int port, ByteString sent, ByteString wanted) throws IOException {
      ModelInferRequest request = ModelInferRequest.newBuilder().addRawInputContents(sent).build();
      return this == UNARY
          ? GrpcUnary.connect(port, request, wanted)
          : GrpcStream.connect(port, request, wanted);
    }
  }

  @BeforeEach
  void start() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(echo)
            .directExecutor()
            .build()
            .start();
  }

  @AfterEach
  void stop() {
    server.shutdownNow();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountEveryAnswerWhenRequestsAreOutstanding(Kind kind) throws IOException {
    ByteString data = ByteString.copyFromUtf8("sixteen of bytes");
    try (ThinClient client = kind.connect(server.getPort(), data, data)) {
      int first = echo.requests.get();
      Load load = client.run(8, SHORT);
      Load again = client.run(1, SHORT);
      assertThat(load.requests()).isGreaterThanOrEqualTo(8);
      assertThat(load.requests() + again.requests()).isEqualTo(echo.requests.get() - first);
      assertThat(again.p50Micros()).isPositive();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepToTheWindowsWhenMessagesAreLarge(Kind kind) throws IOException {
    ByteString data = ByteString.copyFrom(new byte[3 << 20]);
    try (ThinClient client = kind.connect(server.getPort(), data, data)) {
      int first = echo.requests.get();
      long requests = client.run(4, SHORT).requests();
      assertThat(requests).isGreaterThanOrEqualTo(4).isEqualTo(echo.requests.get() - first);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldFailWhenTheFirstAnswerHasOtherBytes(Kind kind) {
    ByteString sent = ByteString.copyFromUtf8("a");
    assertThatThrownBy(
            () -> kind.connect(server.getPort(), sent, ByteString.copyFromUtf8("wanted")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("1 bytes of outputs that are not the 6 wanted");
  }

  @ParameterizedTest
  @EnumSource
  void shouldFailWhenALaterAnswerHasAnotherSize(Kind kind) throws IOException {
    ByteString data = ByteString.copyFromUtf8("sixteen of bytes");
    try (ThinClient client = kind.connect(server.getPort(), data, data)) {
      echo.change = bytes -> bytes.concat(bytes);
      assertThatThrownBy(() -> client.run(2, SHORT))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("an answer of");
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldFailWhenTheServerAnswersWithAStatusOnly(Kind kind) {
    echo.refusing = true;
    assertThatThrownBy(() -> kind.connect(server.getPort(), ByteString.EMPTY, ByteString.EMPTY))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ended the call without an answer");
  }

  @Test
  void shouldTellTheErrorOfAStream() {
    echo.error = "no such model";
    assertThatThrownBy(
            () -> Kind.STREAM.connect(server.getPort(), ByteString.EMPTY, ByteString.EMPTY))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("the server refused it: no such model");
  }

  /** Answers with what it was sent, or what a test makes of it. */
  private static final class Echo extends GRPCInferenceServiceImplBase {
    private final AtomicInteger requests = new AtomicInteger();
    private volatile UnaryOperator<ByteString> change = UnaryOperator.identity();
    private volatile String error = "";
    private volatile boolean refusing;

    private boolean refused(StreamObserver<?> answers) {
      if (refusing) {
        answers.onError(Status.UNAVAILABLE.asRuntimeException());
      }
      return refusing;
    }

    private ModelInferResponse answer(ModelInferRequest request) {
      requests.incrementAndGet();
      return ModelInferResponse.newBuilder()
          .addRawOutputContents(change.apply(request.getRawInputContents(0)))
          .build();
    }

    @Override
    public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answers) {
      if (!refused(answers)) {
        answers.onNext(answer(request));
        answers.onCompleted();
      }
    }

    @Override
    public StreamObserver<ModelInferRequest> modelStreamInfer(
        StreamObserver<ModelStreamInferResponse> answers) {
      return new StreamObserver<>() {
        @Override
        public void onNext(ModelInferRequest request) {
          if (!refused(answers)) {
            answers.onNext(
                ModelStreamInferResponse.newBuilder()
                    .setErrorMessage(error)
                    .setInferResponse(answer(request))
                    .build());
          }
        }

        @Override
        public void onError(Throwable broken) {}

        @Override
        public void onCompleted() {
          if (!refusing) {
            answers.onCompleted();
          }
        }
      };
    }
  }
}
