package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.CompressorRegistry;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import java.util.zip.DeflaterOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** gRPC requests whose messages are compressed, sent to a whole worker. */
@Timeout(120)
class CompressedCallsTest {
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    worker =
        new RunningWorker(
                repository, TestBundle.DOUBLE, "--roundhouse.worker.server.max-message-size=1MB")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldTakeWhatStockClientsCompress() {
    assertThat(send(new Codec.Gzip(), 0).getCode()).isEqualTo(Code.OK);
    assertThat(send(new Compression("deflate", DeflaterOutputStream::new), 0).getCode())
        .isEqualTo(Code.OK);
  }

  @Test
  void shouldHoldWhatIsInflatedToTheLimitOfAMessage() {
    Status status = send(new Compression("deflate", DeflaterOutputStream::new), 1 << 21);

    assertThat(status.getCode()).isEqualTo(Code.RESOURCE_EXHAUSTED);
    assertThat(status.getDescription()).contains("1048576");
  }

  @Test
  void shouldRefuseWhatIsNotDeflated() {
    Status status = send(new Compression("deflate", out -> out), 0);

    assertThat(status.getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(status.getDescription())
        .matches("the (message is not compressed by deflate|bytes are not a request of \\S+): .*");
  }

  @Test
  void shouldNameTheCompressionThatItDoesNotKnow() {
    Status status = send(new Compression("snappy", out -> out), 0);

    assertThat(status.getCode()).isEqualTo(Code.UNIMPLEMENTED);
    assertThat(status.getDescription()).contains("snappy");
  }

  /** How a request ends that has an id of so many bytes. */
  private static Status send(Compressor compressor, int idBytes) {
    CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
    compressors.register(compressor);
    ManagedChannel channel =
        Grpc.newChannelBuilder(
                "127.0.0.1:" + worker.port("grpc"), InsecureChannelCredentials.create())
            .compressorRegistry(compressors)
            .build();
    try {
      var stub =
          GRPCInferenceServiceGrpc.newBlockingStub(channel)
              .withCompression(compressor.getMessageEncoding());
      ModelInferRequest request =
          WorkerTest.request("double", 1, 1, 2).toBuilder().setId("x".repeat(idBytes)).build();
      StatusRuntimeException refusal =
          catchThrowableOfType(StatusRuntimeException.class, () -> stub.modelInfer(request));
      return refusal == null ? Status.OK : refusal.getStatus();
    } finally {
      channel.shutdownNow();
    }
  }

  private record Compression(String getMessageEncoding, UnaryOperator<OutputStream> wrap)
      implements Compressor {
    @Override
    public OutputStream compress(OutputStream out) {
      return wrap.apply(out);
    }
  }
}
