package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.CallStats;
import dev.roundhouse.client.Dataset;
import dev.roundhouse.client.DatasetResult;
import dev.roundhouse.client.InferRequest;
import dev.roundhouse.client.InferResult;
import dev.roundhouse.client.InferStream;
import dev.roundhouse.client.KServeClient;
import dev.roundhouse.client.KServeClientBuilder;
import dev.roundhouse.client.KServeException;
import dev.roundhouse.client.ModelShape;
import dev.roundhouse.client.ModelState;
import dev.roundhouse.client.Receipt;
import dev.roundhouse.client.ServerTimings;
import dev.roundhouse.client.SharedMemory;
import dev.roundhouse.client.StreamAnswer;
import dev.roundhouse.client.TensorShape;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** The client of {@code kserve-client} against a worker, on the simulated device. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class JavaClientTest {
  /** Floats of a row that goes through shared memory. */
  private static final int WIDE = 1 << 16;

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(WIDE, 1, 4).write(repository, "wide");
    TestBundle.doubling(2, 1, 4)
        .changed("kind: model\n", "kind: model\ndecoupled: true\n")
        .file("Model.java", DecoupledTest.HOOKS.getBytes(StandardCharsets.UTF_8))
        .write(repository, "parts");
    worker =
        new RunningWorker(
                repository,
                GATE,
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=double,wide,parts")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind() {
    GATE.open();
    worker.assertHoldsNothing();
    assertThat(regions()).isEmpty();
  }

  private static List<String> regions() {
    return List.copyOf(
        worker
            .stub()
            .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
            .getRegionsMap()
            .keySet());
  }

  private static KServeClientBuilder client() {
    return KServeClient.to("127.0.0.1:" + worker.port("grpc")).deadline(Duration.ofSeconds(60));
  }

  private static InferRequest.Builder pair(float a, float b) {
    return InferRequest.to("double").input("x", Tensor.of(new float[] {a, b}, 1, 2));
  }

  private static InferRequest wide(float value) {
    float[] values = new float[WIDE];
    java.util.Arrays.fill(values, value);
    return InferRequest.to("wide").input("x", Tensor.of(values, 1, WIDE)).build();
  }

  @Test
  void shouldAnswerAndTellWhereTheTimeWent() {
    try (KServeClient client = client().build()) {
      InferResult result = client.infer(pair(1, -3).id("seven").timings().build());
      assertThat(result.output("y").floats()).containsExactly(2, -6);
      assertThat(result.id()).isEqualTo("seven");
      ServerTimings timings = result.timings().orElseThrow();
      CallStats stats = result.stats().orElseThrow();
      assertThat(timings.total()).isPositive().isLessThan(stats.total());
      assertThat(timings.total())
          .isGreaterThanOrEqualTo(timings.queue().plus(timings.computeInfer()));
      assertThat(timings.batchRows()).isEqualTo(1);
    }
  }

  @Test
  void shouldReadAReceipt() {
    try (KServeClient client = client().build()) {
      InferResult result = client.infer(pair(1, -3).receipt().build());
      Receipt receipt = result.receipt().orElseThrow();
      assertThat(receipt.total()).isPositive().isLessThan(result.stats().orElseThrow().total());
      assertThat(receipt.total()).isGreaterThanOrEqualTo(receipt.queue().plus(receipt.compute()));
      assertThat(receipt.batchRows()).isEqualTo(1);
      assertThat(receipt.version()).isEqualTo(result.version());
      assertThat(receipt.device()).startsWith("simulated:0 ");
      assertThat(receipt.calls()).isEmpty();
      assertThat(client.infer(pair(1, -3).build()).receipt()).isEmpty();
    }
  }

  @Test
  void shouldAnswerManyAtOnce() throws Exception {
    try (KServeClient client = client().build()) {
      List<CompletableFuture<InferResult>> calls = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        calls.add(client.inferAsync(pair(i, -i).build()));
      }
      for (int i = 0; i < calls.size(); i++) {
        InferResult result = calls.get(i).get(60, TimeUnit.SECONDS);
        assertThat(result.output("y").floats()).containsExactly(2 * i, -2 * i);
      }
    }
  }

  @Test
  void shouldStreamInOrder() throws Exception {
    try (KServeClient client = client().build();
        InferStream stream = client.stream()) {
      for (int i = 0; i < 50; i++) {
        stream.send(i == 20 ? wide(1) : pair(i, 0).id("" + i).build());
      }
      stream.send(InferRequest.to("nobody").input("x", Tensor.of(new float[2], 1, 2)).build());
      stream.halfClose();
      for (int i = 0; i < 50; i++) {
        StreamAnswer answer = stream.next().orElseThrow();
        assertThat(answer).isInstanceOf(StreamAnswer.Answered.class);
        assertThat(answer.id()).isEqualTo(i == 20 ? "" : "" + i);
      }
      assertThat(stream.next().orElseThrow())
          .isInstanceOfSatisfying(
              StreamAnswer.Failed.class,
              failed -> assertThat(failed.message()).contains("unknown model: 'nobody'"));
      assertThat(stream.next()).isEmpty();
    }
  }

  @Test
  void shouldTakeAllPartsOfAnAnswerAndBeToldOfItsEnd() throws Exception {
    try (KServeClient client = client().build();
        InferStream stream = client.stream()) {
      stream.send(parts("a", 3, "end").tellEnd().build());
      stream.send(wide(1));
      stream.send(parts("b", 2, "last").tellEnd().build());
      stream.send(parts("c", 1, "fail").build());
      stream.halfClose();
      Map<String, List<String>> answers = new HashMap<>();
      for (var next = stream.next(); next.isPresent(); next = stream.next()) {
        answers.computeIfAbsent(next.get().id(), id -> new ArrayList<>()).add(shown(next.get()));
      }
      assertThat(answers.get("a")).containsExactly("0", "1", "2", "nothing, the last");
      assertThat(answers.get("b")).containsExactly("0", "1", "2, the last");
      assertThat(answers.get("c"))
          .satisfiesExactly(
              first -> assertThat(first).isEqualTo("0"),
              second -> assertThat(second).contains("told to"));
      assertThat(answers.get("")).as("of the other model").containsExactly("2, the last");
    }
  }

  @Test
  void shouldStopTheModelWhenTheStreamIsClosedInTheMiddle() throws Exception {
    try (KServeClient client = client().build()) {
      InferStream stream = client.stream();
      stream.send(parts("a", Long.MAX_VALUE, "end").build());
      for (int i = 0; i < 1_000; i++) {
        assertThat(shown(stream.next().orElseThrow())).isEqualTo("" + i);
      }
      stream.close(); // see shouldHaveLeftNothingBehind
      assertThat(client.infer(pair(1, 2).build()).output("y").floats()).containsExactly(2, 4);
    }
  }

  @Test
  void shouldBeToldThatPartsNeedAStream() {
    try (KServeClient client = client().build()) {
      KServeException refusal =
          catchThrowableOfType(
              KServeException.class, () -> client.infer(parts("a", 1, "end").build()));
      assertThat(refusal.code()).isEqualTo(Status.Code.UNIMPLEMENTED);
      assertThat(refusal).hasMessageContaining("decoupled transaction policy");
    }
  }

  private static InferRequest.Builder parts(String id, long count, String then) {
    return InferRequest.to("parts")
        .input("x", Tensor.of(new float[] {1, 2}, 1, 2))
        .id(id)
        .parameter("parts", count)
        .parameter("then", then);
  }

  /** The first number of an answer, and whether it is the last; or what failed. */
  private static String shown(StreamAnswer answer) {
    return switch (answer) {
      case StreamAnswer.Failed(String id, String message) -> message;
      case StreamAnswer.Answered(InferResult result) ->
          (result.outputs().isEmpty() ? "nothing" : "" + (int) result.output("y").floats()[0])
              + (result.last() ? ", the last" : "");
    };
  }

  @Test
  void shouldEndWithItsDeadlineAndTakeTheRequestBack() {
    try (KServeClient client = client().build()) {
      client.infer(pair(1, 2).build());
      GATE.shut();
      KServeException late =
          catchThrowableOfType(
              KServeException.class,
              () -> client.infer(pair(1, 2).deadline(Duration.ofMillis(300)).build()));
      assertThat(late.code()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    }
  }

  @Test
  void shouldTellWhatIsServed() {
    try (KServeClient client = client().build()) {
      assertThat(client.live()).isTrue();
      assertThat(client.ready()).isTrue();
      assertThat(client.ready("double")).isTrue();
      assertThat(client.ready("nobody")).isFalse();
      assertThat(client.server().extensions()).contains("system_shared_memory");
      ModelShape shape = client.shape("double");
      assertThat(shape.maxBatch()).isEqualTo(4);
      assertThat(shape.inputs())
          .containsExactly(new TensorShape("x", DType.F32, Shape.of(-1, 2), 0, false));
      shape.check(pair(1, 2).build());
      InferRequest flat = InferRequest.to("double").input("x", Tensor.of(new float[2])).build();
      assertThatThrownBy(() -> shape.check(flat)).hasMessageContaining("reshape it to [1,2]");
      assertThatThrownBy(() -> client.infer(flat)).hasMessageContaining("INVALID_ARGUMENT");
      assertThat(client.config("double").getMaxBatchSize()).isEqualTo(4);
      assertThat(client.statistics("double").getFirst().getName()).isEqualTo("double");
    }
  }

  @Test
  void shouldUnloadAndLoad() {
    try (KServeClient client = client().build()) {
      client.unload("double", Duration.ofSeconds(60));
      assertThat(client.ready("double")).isFalse();
      client.load("double", Duration.ofSeconds(60));
      assertThat(client.models()).contains(new ModelState("double", "1", "READY", ""));
      assertThat(client.infer(pair(1, 2).build()).output("y").floats()).containsExactly(2, 4);
    }
  }

  @Test
  void shouldPassTensorsThroughSharedMemoryByItself(CapturedOutput output) {
    try (KServeClient client = client().build()) {
      for (int i = 0; i < 20; i++) {
        InferResult result = client.infer(wide(i));
        assertThat(result.output("y").floats()).hasSize(WIDE).containsOnly(2 * i);
        assertThat(result.stats().orElseThrow().sharedBytes()).isEqualTo(8L * WIDE);
      }
      assertThat(regions()).hasSize(1);
    }
    assertThat(output).doesNotContain("in messages");
  }

  @Test
  void shouldRegisterAgainWhatTheWorkerHasLost() {
    try (KServeClient client = client().sharedMemory(SharedMemory.ON).build()) {
      client.infer(wide(1));
      worker
          .stub()
          .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
      InferResult result = client.infer(wide(3));
      assertThat(result.output("y").floats()).containsOnly(6);
      assertThat(result.stats().orElseThrow().sharedBytes()).isEqualTo(8L * WIDE);
      assertThat(client.counters().registrations()).isEqualTo(2);
    }
  }

  @Test
  void shouldPassAStreamsTensorsThroughSharedMemory() throws Exception {
    try (KServeClient client = client().sharedMemory(SharedMemory.ON).build();
        InferStream stream = client.stream()) {
      for (int i = 0; i < 20; i++) {
        if (i == 10) { // which the worker says of the requests that name it from now on
          worker
              .stub()
              .systemSharedMemoryUnregister(
                  SystemSharedMemoryUnregisterRequest.getDefaultInstance());
        }
        stream.send(wide(i));
        stream.send(pair(i, 0).id("" + i).build());
        float doubled = 2 * i;
        assertThat(stream.next().orElseThrow())
            .isInstanceOfSatisfying(
                StreamAnswer.Answered.class,
                told -> assertThat(told.result().output("y").floats()).containsOnly(doubled));
        assertThat(stream.next().orElseThrow().id()).isEqualTo("" + i);
      }
      stream.halfClose();
      assertThat(stream.next()).isEmpty();
      assertThat(client.counters().sharedBytes()).isEqualTo(20 * 8L * WIDE);
      assertThat(client.counters().registrations()).isEqualTo(2);
    }
  }

  @Test
  void shouldUseOtherSlotsThanACallThatWasGivenUp() throws Exception {
    try (KServeClient client = client().sharedMemory(SharedMemory.ON).build()) {
      client.infer(wide(1));
      GATE.shut();
      CompletableFuture<InferResult> given = client.inferAsync(wide(2));
      GATE.awaitArrival();
      given.cancel(true);
      GATE.open();
      for (int i = 0; i < 20; i++) {
        assertThat(client.infer(wide(i)).output("y").floats()).containsOnly(2 * i);
      }
    }
  }

  @Test
  void shouldRunDataSets() throws Exception {
    for (SharedMemory memory : List.of(SharedMemory.ON, SharedMemory.OFF)) {
      try (KServeClient client = client().sharedMemory(memory).build()) {
        int rows = 37;
        float[] values = new float[rows * WIDE];
        for (int i = 0; i < values.length; i++) {
          values[i] = i;
        }
        DatasetResult result =
            client.infer(
                Dataset.of(client.shape("wide")).input("x", Tensor.of(values, rows, WIDE)));
        float[] doubled = result.complete().output("y").floats();
        for (int i = 0; i < values.length; i++) {
          if (doubled[i] != 2 * values[i]) {
            throw new AssertionError("element %d is %s".formatted(i, doubled[i]));
          }
        }
        assertThat(result.chunks()).isEqualTo(10);
        assertThat(client.counters().sharedBytes())
            .isEqualTo(memory == SharedMemory.ON ? 8L * WIDE * rows : 0);
      }
    }
  }

  @Test
  void shouldSendInMessagesToAWorkerThatSharesNothing(@TempDir Path other, CapturedOutput output)
      throws Exception {
    TestBundle.doubling(WIDE, 1).write(other, "wide");
    try (RunningWorker closed = new RunningWorker(other, TestBundle.DOUBLE).awaitLoaded()) {
      String address = "127.0.0.1:" + closed.port("grpc");
      try (KServeClient client = KServeClient.to(address).build()) {
        for (int i = 0; i < 5; i++) {
          InferResult result = client.infer(wide(i));
          assertThat(result.output("y").floats()).containsOnly(2 * i);
          assertThat(result.stats().orElseThrow().sharedBytes()).isZero();
        }
      }
      try (KServeClient client = KServeClient.to(address).sharedMemory(SharedMemory.ON).build()) {
        assertThatThrownBy(() -> client.infer(wide(1)))
            .hasMessageContaining("shared memory is on and cannot be used")
            .hasMessageContaining("roundhouse.worker.shared-memory.enabled");
      }
    }
    assertThat(Pattern.compile("in messages, not through shared memory").matcher(output).results())
        .as("lines in the log")
        .hasSize(1);
  }

  @Test
  void shouldReachAWorkerThatIsRestarted(@TempDir Path other) throws Exception {
    TestBundle.doubling(WIDE, 1).write(other, "wide");
    int port;
    String shares = "--roundhouse.worker.shared-memory.enabled=true";
    try (RunningWorker first = new RunningWorker(other, TestBundle.DOUBLE, shares).awaitLoaded()) {
      port = first.port("grpc");
      try (KServeClient client =
          KServeClient.to("127.0.0.1:" + port)
              .deadline(Duration.ofSeconds(60))
              .sharedMemory(SharedMemory.ON)
              .retry(
                  dev.roundhouse.client.retry.RetryPolicy.DEFAULT
                      .withMaxAttempts(10_000)
                      .withBudget(1, 10_000)
                      .withWaits(Duration.ofMillis(20), 1, Duration.ofMillis(20)))
              .build()) {
        client.infer(wide(1));
        first.stop();
        CompletableFuture<InferResult> call = client.inferAsync(wide(5));
        try (RunningWorker second =
            new RunningWorker(other, TestBundle.DOUBLE, shares, "--spring.grpc.server.port=" + port)
                .awaitLoaded()) {
          InferResult result = call.get(60, TimeUnit.SECONDS);
          assertThat(result.output("y").floats()).containsOnly(10);
          assertThat(result.stats().orElseThrow().attempts()).isGreaterThan(1);
          assertThat(client.counters().registrations()).isGreaterThanOrEqualTo(2);
        }
      }
    }
  }
}
