package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Status;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InferTest {
  private final FakeServer server;
  private final KServeClient client;

  InferTest() throws Exception {
    server = new FakeServer();
    client = KServeClient.to(server.address()).deadline(Duration.ofSeconds(30)).build();
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  static InferRequest.Builder doubling(float... values) {
    return InferRequest.to("double").input("x", Tensor.of(values, 1, values.length));
  }

  static void await(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(end);
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }

  @Test
  void shouldAskAndAnswer() {
    InferResult result = client.infer(doubling(1.5f, -2).id("seven").build());
    assertThat(result.output("y").floats()).containsExactly(3, -4);
    assertThat(result.output("y").shape()).isEqualTo(Shape.of(1, 2));
    assertThat(result.id()).isEqualTo("seven");
    assertThat(result.model()).isEqualTo("double");
    assertThat(result.version()).isEqualTo("1");
    assertThat(result.timings()).isEmpty();
    assertThat(result.last()).isTrue();
    assertThatThrownBy(() -> result.output("z"))
        .hasMessage("'double' answered no output 'z'; it answered [y]");
  }

  @Test
  void shouldCarryEveryTypeBothWays() {
    InferRequest request =
        InferRequest.to("echo")
            .input("f32", Tensor.of(new float[] {1, 2, 3, 4}, 2, 2))
            .input("f64", Tensor.of(new double[] {Math.PI}))
            .input("i64", Tensor.of(new long[] {Long.MAX_VALUE}))
            .input("i32", Tensor.of(new int[] {-1}))
            .input("i16", Tensor.of(new short[] {-1}))
            .input("i8", Tensor.of(new byte[] {-1}))
            .input("u64", Tensor.of(DType.U64, new long[] {-1}))
            .input("u8", Tensor.of(DType.U8, new byte[] {-1}))
            .input("bf16", Tensor.of(DType.BF16, new short[] {0x3F80}))
            .input("bool", Tensor.of(new boolean[] {true, false, true}))
            .input("bytes", Tensor.ofStrings(List.of("one", "", "three")))
            .input("scalar", Tensor.of(DType.F32, Shape.SCALAR, MemorySegment.ofArray(new byte[4])))
            .input("empty", Tensor.of(new float[0], 0, 3))
            .build();
    InferResult result = client.infer(request);
    assertThat(result.outputs().keySet()).containsExactlyElementsOf(request.inputs().keySet());
    request
        .inputs()
        .forEach(
            (name, input) -> {
              Tensor output = result.output(name);
              assertThat(output).hasToString(input.toString());
              assertThat(output.bytes().mismatch(input.bytes())).as(name).isEqualTo(-1);
            });
    assertThat(result.output("bytes").strings()).containsExactly("one", "", "three");
    assertThat(result.output("bool").booleans()).containsExactly(true, false, true);
  }

  @Test
  void shouldSendMemoryOutsideTheHeapAndAnswersOfMegabytes() {
    int count = 1 << 20;
    try (Arena arena = Arena.ofShared()) {
      MemorySegment values = arena.allocate(4L * count);
      for (int i = 0; i < count; i++) {
        values.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
      }
      Tensor tensor = Tensor.of(DType.F32, Shape.of(1, count), values);
      InferResult result = client.infer(InferRequest.to("double").input("x", tensor).build());
      float[] doubled = result.output("y").floats();
      for (int i = 0; i < count; i++) {
        assertThat(doubled[i]).isEqualTo(2f * i);
      }
      CallStats stats = result.stats().orElseThrow();
      assertThat(stats.bytesSent()).isGreaterThan(4L * count).isLessThan(4L * count + 1000);
      assertThat(stats.bytesReceived()).isGreaterThan(4L * count).isLessThan(4L * count + 1000);
    }
  }

  @Test
  void shouldSayInTheRequestWhatWasAskedFor() throws Exception {
    client.infer(
        doubling(1)
            .version("3")
            .output("y")
            .classes("z", 5)
            .priority(2)
            .queueTimeout(Duration.ofMillis(3))
            .sequence(42, true, false)
            .parameter("text", "t")
            .parameter("flag", true)
            .parameter("number", 1.5)
            .parameter("whole", 7)
            .build());
    ModelInferRequest request = server.arrival().request();
    assertThat(request.getModelVersion()).isEqualTo("3");
    assertThat(request.getOutputs(0).getName()).isEqualTo("y");
    assertThat(request.getOutputs(0).getParametersMap()).isEmpty();
    assertThat(request.getOutputs(1).getParametersOrThrow("classification").getInt64Param())
        .isEqualTo(5);
    assertThat(request.getParametersOrThrow("priority").getUint64Param()).isEqualTo(2);
    assertThat(request.getParametersOrThrow("timeout").getInt64Param()).isEqualTo(3000);
    assertThat(request.getParametersOrThrow("sequence_id").getInt64Param()).isEqualTo(42);
    assertThat(request.getParametersOrThrow("sequence_start").getBoolParam()).isTrue();
    assertThat(request.getParametersOrThrow("sequence_end").getBoolParam()).isFalse();
    assertThat(request.getParametersOrThrow("text").getStringParam()).isEqualTo("t");
    assertThat(request.getParametersOrThrow("flag").getBoolParam()).isTrue();
    assertThat(request.getParametersOrThrow("number").getDoubleParam()).isEqualTo(1.5);
    assertThat(request.getParametersOrThrow("whole").getInt64Param()).isEqualTo(7);
  }

  @Test
  void shouldRefuseParametersThatTheProtocolOwns() {
    assertThatThrownBy(() -> doubling(1).parameter("sequence_id", 1))
        .hasMessageContaining("parameter 'sequence_id' is the protocol's own");
    assertThatThrownBy(() -> doubling(1).parameter("triton_x", 1)).hasMessageContaining("own");
    assertThatThrownBy(() -> doubling(1).input("x", Tensor.of(new float[1])))
        .hasMessage("input 'x' is there already");
    assertThatThrownBy(() -> doubling(1).sequence(0, true, true))
        .hasMessageContaining("no sequence");
  }

  @Test
  void shouldTellWhereTheTimeWent() {
    InferResult result = client.infer(doubling(1).timings().build());
    ServerTimings timings = result.timings().orElseThrow();
    assertThat(timings.total()).isEqualTo(Duration.ofNanos(5000));
    assertThat(timings.queue()).isEqualTo(Duration.ofNanos(2000));
    assertThat(timings.batchRows()).isEqualTo(3);
    CallStats stats = result.stats().orElseThrow();
    assertThat(stats.attempts()).isEqualTo(1);
    assertThat(stats.send()).isPositive().isLessThan(stats.total());
    assertThat(stats.receive()).isPositive().isLessThan(stats.total());
  }

  @Test
  void shouldReadAReceipt() {
    assertThat(client.infer(doubling(1).build()).receipt()).isEmpty();
    Receipt receipt = client.infer(doubling(1).receipt().build()).receipt().orElseThrow();
    assertThat(receipt.total()).isEqualTo(Duration.ofNanos(5000));
    assertThat(receipt.load()).isEqualTo(Duration.ofNanos(700));
    assertThat(receipt.weightsCame()).isTrue();
    assertThat(receipt.paddingPositions()).isEqualTo(12);
    assertThat(receipt.worker()).isEqualTo("host/7");
    assertThat(receipt.ahead())
        .containsExactly(
            new Receipt.Ahead("b", 3, Duration.ofNanos(900)),
            new Receipt.Ahead("c", 0, Duration.ZERO));
    assertThat(receipt.callCount()).isEqualTo(40);
    assertThat(receipt.calls())
        .singleElement()
        .satisfies(
            call -> {
              assertThat(call.model()).isEqualTo("d");
              assertThat(call.end()).isEqualTo("COMPLETED");
              assertThat(call.queue()).isEqualTo(Duration.ofNanos(11));
            });
  }

  @Test
  void shouldTellTheServersWords() {
    KServeException failure =
        catchThrowableOfType(
            KServeException.class,
            () -> client.infer(InferRequest.to("nobody").input("x", one()).build()));
    assertThat(failure.code()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(failure).hasMessage("NOT_FOUND: unknown model 'nobody'");
    assertThat(failure.stats()).isNotNull();
    assertThat(failure.getStackTrace()[0].getClassName()).contains("client");
    assertThat(client.counters().failed()).isEqualTo(1);
  }

  private static Tensor one() {
    return Tensor.of(new float[] {1});
  }

  @Test
  void shouldEndWithItsDeadlineAndTellTheServerOfIt() throws Exception {
    client.infer(doubling(1).build()); // connects
    server.arrival();
    server.hold.set(true);
    Duration deadline = Duration.ofMillis(1500);
    KServeException failure =
        catchThrowableOfType(
            KServeException.class, () -> client.infer(doubling(1).deadline(deadline).build()));
    assertThat(failure.code()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    FakeServer.Arrival arrival = server.arrival();
    // Finer than a second, and never more than was given.
    assertThat(arrival.leftNanos()).isPositive().isLessThanOrEqualTo(deadline.toNanos());
    long told = arrival.request().getParametersOrThrow("reactant_timeout_ns").getInt64Param();
    assertThat(told).isPositive().isLessThanOrEqualTo(deadline.toNanos());
  }

  @Test
  void shouldTellNoBudgetWhenItIsNotWanted() throws Exception {
    try (KServeClient quiet =
        KServeClient.to(server.address()).withoutDeadline().budgetParameter(false).build()) {
      quiet.infer(doubling(1).build());
      FakeServer.Arrival arrival = server.arrival();
      assertThat(arrival.request().getParametersMap()).isEmpty();
      assertThat(arrival.leftNanos()).isEqualTo(Long.MAX_VALUE);
    }
  }

  @Test
  void shouldAnswerManyAtOnce() throws Exception {
    List<CompletableFuture<InferResult>> calls = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      calls.add(client.inferAsync(doubling(i).id(Integer.toString(i)).build()));
    }
    for (int i = 0; i < calls.size(); i++) {
      InferResult result = calls.get(i).get(30, TimeUnit.SECONDS);
      assertThat(result.id()).isEqualTo(Integer.toString(i));
      assertThat(result.output("y").floats()).containsExactly(2 * i);
    }
    assertThat(client.counters().calls()).isEqualTo(500);
    assertThat(client.counters().answered()).isEqualTo(500);
    assertThat(client.counters().attempts()).isEqualTo(500);
    assertThat(client.connected()).isEqualTo(1);
  }

  @Test
  void shouldFailAFutureWithTheServersWords() {
    CompletableFuture<InferResult> call =
        client.inferAsync(InferRequest.to("nobody").input("x", one()).build());
    assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOf(KServeException.class)
        .hasMessageContaining("nobody");
  }

  @Test
  void shouldCancelTheCallWithItsFuture() throws Exception {
    server.hold.set(true);
    CompletableFuture<InferResult> call = client.inferAsync(doubling(1).build());
    server.arrival();
    call.cancel(true);
    await("the server hears of it", () -> server.cancelled.get() == 1);
    await("it is counted", () -> client.counters().failed() == 1);
  }

  @Test
  void shouldCancelTheCallOfAThreadThatIsInterrupted() throws Exception {
    server.hold.set(true);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread waiting =
        Thread.startVirtualThread(
            () -> {
              try {
                client.infer(doubling(1).build());
              } catch (KServeException e) {
                thrown.set(e);
              }
            });
    server.arrival();
    waiting.interrupt();
    waiting.join();
    assertThat(thrown.get()).hasMessageContaining("interrupted");
    await("the server hears of it", () -> server.cancelled.get() == 1);
  }

  @Test
  void shouldEndCallsWhenItIsClosed() throws Exception {
    server.hold.set(true);
    CompletableFuture<InferResult> open = client.inferAsync(doubling(1).build());
    server.arrival();
    client.close();
    assertThatThrownBy(() -> open.get(30, TimeUnit.SECONDS))
        .hasCauseInstanceOf(KServeException.class);
    assertThatThrownBy(() -> client.infer(doubling(1).build()))
        .hasMessage("CANCELLED: the client was closed");
  }

  @Test
  void shouldRefuseARequestThatIsTooLargeBeforeItIsSent() {
    RetryPolicy eager = RetryPolicy.DEFAULT.withResourceExhausted(true).withBudget(0, 0);
    try (KServeClient small =
        KServeClient.to(server.address()).maxRequestBytes(1000).retry(eager).build()) {
      assertThatThrownBy(() -> small.infer(doubling(new float[300]).build()))
          .isInstanceOf(KServeException.class)
          .hasMessageContaining("RESOURCE_EXHAUSTED: a request to 'double' of 12")
          .hasMessageContaining("the limit is 1000")
          .hasMessageContaining("raise maxRequestBytes");
      assertThat(server.arrivals).isEmpty();
      assertThat(small.counters().attempts()).isZero();
      assertThat(small.counters().retriesWithoutBudget()).isZero();
    }
  }

  @Test
  void shouldRefuseMemoryThatIsGone() {
    Tensor gone;
    try (Arena arena = Arena.ofShared()) {
      gone = Tensor.of(DType.F32, Shape.of(1, 1), arena.allocate(4));
    }
    InferRequest request = InferRequest.to("double").input("x", gone).build();
    assertThatThrownBy(() -> client.infer(request))
        .isInstanceOf(KServeException.class)
        .hasMessageContaining("INVALID_ARGUMENT: the memory of input 'x' has been closed");
    assertThatThrownBy(() -> client.inferAsync(request).get(30, TimeUnit.SECONDS))
        .hasCauseInstanceOf(KServeException.class);
    assertThat(server.arrivals).isEmpty();
  }

  @Test
  void shouldDropTheAnswerToMemoryThatWentAwayBeforeItWasSentAndServeOthers() throws Exception {
    // While there is no connection yet, a request waits to be read.
    for (int i = 0; i < 20; i++) {
      try (KServeClient fresh = KServeClient.to(server.address()).build()) {
        CompletableFuture<InferResult> call;
        try (Arena arena = Arena.ofShared()) {
          Tensor going = Tensor.of(DType.F32, Shape.of(1, 1), arena.allocate(4));
          going.sendable().set(ValueLayout.JAVA_FLOAT, 0, 5);
          call = fresh.inferAsync(InferRequest.to("double").input("x", going).build());
        }
        try {
          assertThat(call.get(30, TimeUnit.SECONDS).output("y").floats())
              .as("it was sent in time")
              .containsExactly(10);
        } catch (ExecutionException e) {
          assertThat(e).hasMessageContaining("keep its arena open until the call has ended");
        }
        assertThat(fresh.infer(doubling(1).build()).output("y").floats()).containsExactly(2);
      }
    }
  }

  @Test
  void shouldRefuseAnAnswerThatIsTooLargeOnce() {
    RetryPolicy eager = RetryPolicy.DEFAULT.withResourceExhausted(true);
    try (KServeClient small =
        KServeClient.to(server.address()).maxAnswerBytes(1000).retry(eager).build()) {
      assertThatThrownBy(() -> small.infer(doubling(new float[300]).build()))
          .hasMessageContaining("exceeds maximum size");
      assertThat(server.arrivals).hasSize(1);
    }
  }

  @Test
  void shouldCompleteFuturesWhoseExecutorIsShutDown() throws Exception {
    var executor = java.util.concurrent.Executors.newSingleThreadExecutor();
    try (KServeClient other = KServeClient.to(server.address()).executor(executor).build()) {
      executor.shutdown();
      InferResult result = other.inferAsync(doubling(2).build()).get(30, TimeUnit.SECONDS);
      assertThat(result.output("y").floats()).containsExactly(4);
    }
  }
}
