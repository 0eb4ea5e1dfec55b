package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The client against a real Triton 2.51, where it has been fetched. */
@Tag("slow")
@Timeout(180)
class TritonTest {
  @TempDir static Path folder;
  private static @Nullable TritonProcess triton;

  @BeforeAll
  static void start() throws Exception {
    triton = TritonProcess.start(folder);
    triton.await();
  }

  @AfterAll
  static void stop() throws Exception {
    if (triton != null) {
      triton.close();
    }
  }

  private static String address() {
    return "127.0.0.1:" + java.util.Objects.requireNonNull(triton).port;
  }

  private static KServeClientBuilder client() {
    return KServeClient.to(address()).deadline(Duration.ofSeconds(60));
  }

  private static InferRequest.Builder pair(float a, float b) {
    return InferRequest.to("pair").input("x", Tensor.of(new float[] {a, b}, 1, 2));
  }

  @Test
  void shouldAnswer() throws Exception {
    try (KServeClient client = client().build()) {
      InferResult result =
          client.infer(pair(1, -3).id("seven").priority(0).parameter("own", "x").timings().build());
      assertThat(result.output("y").floats()).containsExactly(2, -6);
      assertThat(result.id()).isEqualTo("seven");
      assertThat(result.timings()).as("Roundhouse's own").isEmpty();
      List<CompletableFuture<InferResult>> calls = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        calls.add(client.inferAsync(pair(i, i).build()));
      }
      for (int i = 0; i < 50; i++) {
        assertThat(calls.get(i).get(60, TimeUnit.SECONDS).output("y").floats()[0]).isEqualTo(2 * i);
      }
    }
  }

  @Test
  void shouldCarryStrings() {
    try (KServeClient client = client().build()) {
      List<String> words = List.of("one", "", "drei", "четыре");
      InferResult result =
          client.infer(InferRequest.to("words").input("x", Tensor.ofStrings(words, 2, 2)).build());
      assertThat(result.output("y").strings()).isEqualTo(words);
      assertThat(result.output("y")).hasToString("BYTES[2,2]");
    }
  }

  @Test
  void shouldStream() throws Exception {
    try (KServeClient client = client().build();
        InferStream stream = client.stream()) {
      for (int i = 0; i < 20; i++) {
        stream.send(pair(i, 0).id("" + i).build());
      }
      stream.send(InferRequest.to("nobody").input("x", Tensor.of(new float[1])).build());
      stream.halfClose();
      int answered = 0;
      for (var next = stream.next(); next.isPresent(); next = stream.next()) {
        switch (next.get()) {
          case StreamAnswer.Answered(InferResult result) -> {
            answered++;
            float expected = 2f * Integer.parseInt(result.id());
            assertThat(result.output("y").floats()).containsExactly(expected, 0);
          }
          case StreamAnswer.Failed failed -> assertThat(failed.message()).contains("nobody");
        }
      }
      assertThat(answered).isEqualTo(20);
    }
  }

  @Test
  void shouldTellWhatIsServed() {
    try (KServeClient client = client().build()) {
      assertThat(client.ready()).isTrue();
      assertThat(client.server().name()).isEqualTo("triton");
      ModelShape shape = client.shape("pair");
      assertThat(shape.maxBatch()).isEqualTo(8);
      assertThat(shape.inputs())
          .containsExactly(new TensorShape("x", DType.F32, Shape.of(-1, 2), 0, false));
      shape.check(pair(1, 2).build());
      assertThat(client.statistics("pair").getFirst().getName()).isEqualTo("pair");
      assertThat(client.models()).extracting(ModelState::name).contains("pair", "words");
      KServeException unknown =
          catchThrowableOfType(
              KServeException.class,
              () ->
                  client.infer(
                      InferRequest.to("nobody").input("x", Tensor.of(new float[1])).build()));
      assertThat(unknown.code()).isEqualTo(Status.Code.NOT_FOUND);
      assertThatThrownBy(() -> client.load("pair", Duration.ofSeconds(30)))
          .hasMessageContaining("explicit model load / unload is not allowed");
    }
  }

  @Test
  void shouldRunDataSetsOfMoreRowsThanItTakes() throws Exception {
    int rows = 101;
    float[] values = new float[2 * rows];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (KServeClient client = client().build()) {
      DatasetResult result =
          client.infer(Dataset.of(client.shape("pair")).input("x", Tensor.of(values, rows, 2)));
      float[] doubled = result.complete().output("y").floats();
      for (int i = 0; i < values.length; i++) {
        assertThat(doubled[i]).isEqualTo(2 * values[i]);
      }
    }
  }

  @Test
  void shouldShareMemoryAndRegisterAgainWhatItHasLost() throws Exception {
    ManagedChannel channel =
        Grpc.newChannelBuilder(address(), InsecureChannelCredentials.create()).build();
    try (KServeClient client = client().sharedMemory(SharedMemory.ON.withLeastBytes(1)).build()) {
      for (int i = 0; i < 20; i++) {
        if (i == 10) {
          GRPCInferenceServiceGrpc.newBlockingStub(channel)
              .systemSharedMemoryUnregister(
                  SystemSharedMemoryUnregisterRequest.getDefaultInstance());
        }
        InferResult result = client.infer(pair(i, 1).build());
        assertThat(result.output("y").floats()).containsExactly(2 * i, 2);
        assertThat(result.stats().orElseThrow().sharedBytes()).isEqualTo(16);
      }
      assertThat(client.counters().registrations()).isEqualTo(2);
      List<String> words = List.of("in", "memory");
      InferResult result =
          client.infer(InferRequest.to("words").input("x", Tensor.ofStrings(words, 1, 2)).build());
      assertThat(result.output("y").strings()).isEqualTo(words);
    } finally {
      channel.shutdownNow();
    }
  }
}
