package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class DeflateCodecTest {
  private static final Logger LOGGER = Logger.getLogger("io.grpc");

  private static final int MAX_MESSAGE = 1 << 20;

  /** What Python's {@code zlib.compress(b"zlib")} makes. */
  private static final String BY_ZLIB = "789cabcac94c0200046401b2";

  private static final Metadata.Key<String> ENCODING =
      Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER);
  private static final MethodDescriptor<byte[], byte[]> DEFLATED =
      TestService.method("Deflated", MethodType.UNARY);

  /** The library logs a stack trace of what its clients do wrong. */
  @BeforeAll
  static void silence() {
    LOGGER.setLevel(Level.OFF);
  }

  @AfterAll
  static void speak() {
    LOGGER.setLevel(null);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldReadAndWriteMessages(boolean ours) throws Exception {
    AtomicReference<Metadata> headers = new AtomicReference<>();
    try (Running running = new Running(ours)) {
      var listened =
          ClientInterceptors.intercept(
              running.channel,
              MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()));
      for (int size : new int[] {0, 1, 1000, 200_000, MAX_MESSAGE / 2}) {
        byte[] message = new byte[size];
        new Random(size).nextBytes(message);
        byte[] answer = ClientCalls.blockingUnaryCall(listened, DEFLATED, deflate(), message);
        assertThat(answer).isEqualTo(message);
        assertThat(headers.get().get(ENCODING)).isEqualTo("deflate");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRefuseAMessageThatGrowsTooLarge(boolean ours) throws Exception {
    try (Running running = new Running(ours)) {
      StatusRuntimeException refusal =
          catchThrowableOfType(
              StatusRuntimeException.class, () -> running.call(new byte[MAX_MESSAGE + 1]));
      assertThat(refusal.getStatus().getCode())
          .isEqualTo(ours ? Status.Code.RESOURCE_EXHAUSTED : Status.Code.UNKNOWN);
      assertThat(running.call(new byte[3])).hasSize(3);
    }
  }

  @Test
  void shouldUseTheFormatOfZlib() throws Exception {
    byte[] text = "zlib".getBytes(StandardCharsets.US_ASCII);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (OutputStream deflating = new DeflateCodec().compress(out)) {
      deflating.write(text);
    }
    String hex = HexFormat.of().formatHex(out.toByteArray());
    assertThat(hex).startsWith("78").endsWith(BY_ZLIB.substring(BY_ZLIB.length() - 8)); // Adler-32
    byte[] byZlib = HexFormat.of().parseHex(BY_ZLIB);
    try (var in = new DeflateCodec().decompress(new ByteArrayInputStream(byZlib))) {
      assertThat(in.readAllBytes()).isEqualTo(text);
    }
  }

  @Test
  void shouldSayWhenTheEndIsMissing() throws Exception {
    byte[] whole = HexFormat.of().parseHex(BY_ZLIB);
    byte[] cut = Arrays.copyOf(whole, whole.length - 5);
    try (var in = new DeflateCodec().decompress(new ByteArrayInputStream(cut))) {
      assertThat(catchThrowableOfType(EOFException.class, in::readAllBytes)).isNotNull();
    }
  }

  private static CallOptions deflate() {
    return CallOptions.DEFAULT.withCompression("deflate");
  }

  /** A server that knows the codec, this one or grpc-java's, and a client of it. */
  private static final class Running implements AutoCloseable {
    private final Server server;
    private final ManagedChannel channel;

    Running(boolean ours) throws Exception {
      DeflateCodec codec = new DeflateCodec();
      CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
      compressors.register(Codec.Identity.NONE);
      compressors.register(codec);
      DecompressorRegistry decompressors =
          DecompressorRegistry.getDefaultInstance().with(codec, true);
      ServerBuilder<?> builder =
          ours
              ? Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
              : NettyServerBuilder.forAddress(GrpcContract.ANY_PORT);
      server =
          builder
              .addService(
                  ServerServiceDefinition.builder("test.Test")
                      .addMethod(DEFLATED, ServerCalls.asyncUnaryCall(Running::echo))
                      .build())
              .maxInboundMessageSize(MAX_MESSAGE)
              .compressorRegistry(compressors)
              .decompressorRegistry(decompressors)
              .build()
              .start();
      channel =
          NettyChannelBuilder.forAddress("127.0.0.1", server.getPort())
              .usePlaintext()
              .compressorRegistry(compressors)
              .decompressorRegistry(decompressors)
              .build();
    }

    private static void echo(byte[] message, StreamObserver<byte[]> out) {
      var call = (ServerCallStreamObserver<byte[]>) out;
      call.setCompression("deflate");
      call.onNext(message);
      call.onCompleted();
    }

    byte[] call(byte[] message) {
      return ClientCalls.blockingUnaryCall(channel, DEFLATED, deflate(), message);
    }

    @Override
    public void close() throws InterruptedException {
      channel.shutdownNow();
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
  }
}
