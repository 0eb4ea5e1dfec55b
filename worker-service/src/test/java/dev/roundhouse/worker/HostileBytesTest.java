package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.common.io.ByteStreams;
import com.google.protobuf.CodedOutputStream;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.transport.http2.DeflateCodec;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Bytes that are no request, and requests that hold too much, sent to a whole worker. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class HostileBytesTest {
  private static final int MEBIBYTE = 1 << 20;
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLoggedNothing(CapturedOutput output) {
    assertThat(output).doesNotContain("SEVERE", "ERROR", "Exception");
    assertThat(worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getOutputsCount())
        .isOne();
  }

  @Test
  void shouldAnswerInvalidArgumentWhenBytesAreNoRequest() {
    Status status = send(inferMethod(), new byte[] {0x0a, 5, 'a'});

    assertThat(status.getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(status.getDescription())
        .startsWith("the bytes are not a request of inference.GRPCInferenceService/ModelInfer: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"inference.GRPCInferenceService/ModelReady", "grpc.health.v1.Health/Check"})
  void shouldHoldEveryMethodToTheSame(String method) {
    byte[] unknown = new byte[2 * MEBIBYTE];
    Arrays.fill(unknown, 0, unknown.length, (byte) (15 << 3)); // field 15 is 120, again and again

    assertThat(send(unary(method), new byte[] {0x0a, 5, 'a'}).getCode())
        .isEqualTo(Code.INVALID_ARGUMENT);
    Status large = send(unary(method), unknown);
    assertThat(large.getCode()).isEqualTo(Code.RESOURCE_EXHAUSTED);
    assertThat(large.getDescription())
        .isEqualTo("the request has 2097152 bytes, the limit is 1048576");
  }

  @Test
  void shouldEndAStreamAtBytesThatAreNoRequest() throws Exception {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    MethodDescriptor<byte[], byte[]> method =
        raw(
            ServerReflectionGrpc.getServerReflectionInfoMethod().getFullMethodName(),
            MethodDescriptor.MethodType.BIDI_STREAMING);
    ClientCall<byte[], byte[]> call = worker.channel().newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(status);
          }
        },
        new Metadata());
    call.sendMessage(new byte[] {0x0a, 5, 'a'});

    assertThat(ended.get(30, TimeUnit.SECONDS).getCode()).isEqualTo(Code.INVALID_ARGUMENT);
  }

  @Test
  void shouldStopReadingAShapeOfMillionsOfExtents() throws Exception {
    byte[] extents = new byte[64 * MEBIBYTE];
    Arrays.fill(extents, (byte) 1);
    byte[] input = message(out -> out.writeByteArray(3, extents));

    Status status = send(inferMethod(), message(out -> out.writeByteArray(5, input)));

    assertThat(status.getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(status.getDescription())
        .isEqualTo(
            "the shape of input 0 has 65 or more dimensions, the limit is 64 in one request");
  }

  @Test
  void shouldStopReadingMillionsOfInputs() {
    byte[] inputs = new byte[64 * MEBIBYTE];
    for (int i = 0; i < inputs.length; i += 2) {
      inputs[i] = 5 << 3 | 2; // field 5, of no bytes
    }

    Status status = send(inferMethod(), inputs);

    assertThat(status.getCode()).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(status.getDescription())
        .isEqualTo("the request has 4097 or more inputs, the limit is 4096 in one request");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate"})
  void shouldHoldACompressedMessageToTheSame(String encoding) throws Exception {
    byte[] inputs = new byte[16 * MEBIBYTE];
    for (int i = 0; i < inputs.length; i += 2) {
      inputs[i] = 5 << 3 | 2;
    }

    Status status = compressed(encoding, inputs);

    assertThat(status.getDescription()).contains("4097 or more inputs");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate"})
  void shouldAnswerACompressedMessage(String encoding) throws Exception {
    assertThat(compressed(encoding, WorkerTest.request("double", 1, 1, 2).toByteArray()))
        .isEqualTo(Status.OK);
  }

  /** By a client that knows deflate, which grpc-java's own do not. */
  private static Status compressed(String encoding, byte[] message) throws Exception {
    CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
    compressors.register(new Codec.Gzip());
    compressors.register(new DeflateCodec());
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", worker.port("grpc"))
            .usePlaintext()
            .compressorRegistry(compressors)
            .build();
    try {
      return send(channel, inferMethod(), message, CallOptions.DEFAULT.withCompression(encoding));
    } finally {
      channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldAnswerWhateverIsSent() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] whole = WorkerTest.request("double", 1, 1, 2).toByteArray();
    Set<Code> possible =
        EnumSet.of(Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.UNIMPLEMENTED);
    for (int round = 0; round < 3_000; round++) {
      byte[] bytes = round % 3 == 0 ? noise(random) : damaged(whole, random);
      Status status = send(inferMethod(), bytes);
      assertThat(possible)
          .as("seed %d, round %d: %s", seed, round, status)
          .contains(status.getCode());
    }
  }

  private static byte[] noise(Random random) {
    byte[] noise = new byte[random.nextInt(200)];
    random.nextBytes(noise);
    return noise;
  }

  private static byte[] damaged(byte[] whole, Random random) {
    byte[] damaged = Arrays.copyOf(whole, random.nextInt(whole.length + 1));
    for (int i = random.nextInt(3); i > 0 && damaged.length > 0; i--) {
      damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
    }
    return damaged;
  }

  private static Status send(MethodDescriptor<byte[], byte[]> method, byte[] bytes) {
    return send(worker.channel(), method, bytes, CallOptions.DEFAULT);
  }

  private static Status send(
      ManagedChannel channel,
      MethodDescriptor<byte[], byte[]> method,
      byte[] bytes,
      CallOptions options) {
    StatusRuntimeException refusal =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> ClientCalls.blockingUnaryCall(channel, method, options, bytes));
    return refusal == null ? Status.OK : refusal.getStatus();
  }

  private static MethodDescriptor<byte[], byte[]> inferMethod() {
    return unary(GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName());
  }

  private static MethodDescriptor<byte[], byte[]> unary(String method) {
    return raw(method, MethodDescriptor.MethodType.UNARY);
  }

  private static MethodDescriptor<byte[], byte[]> raw(
      String method, MethodDescriptor.MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(type)
        .setFullMethodName(method)
        .setRequestMarshaller(new Bytes())
        .setResponseMarshaller(new Bytes())
        .build();
  }

  private static byte[] message(Writing writing) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    writing.write(out);
    out.flush();
    return bytes.toByteArray();
  }

  private interface Writing {
    void write(CodedOutputStream out) throws IOException;
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return ByteStreams.toByteArray(stream);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
