package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import java.lang.foreign.MemorySegment;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** One request of texts that becomes five inference requests, when something ends it on the way. */
@Timeout(60)
class TextSplitTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TEXTS = 20;
  private static final int PARTS = 5;

  private static final String HOOKS =
      """
      import dev.roundhouse.bundle.tensor.DType;
      import dev.roundhouse.hooks.*;

      class Model implements ModelHooks {
        @Override public Tensors preprocess(HookRequest request) {
          Tensor text = request.input("text");
          Tensor x = request.tensor("x", DType.F32, text.dim(0), 2);
          for (int row = 0; row < text.dim(0); row++) {
            x.f32().put(2 * row, text.string(row).length());
          }
          return Tensors.of(x);
        }
      }
      """;

  private static final Turnstile DEVICE = new Turnstile();
  @TempDir private static Path repository;
  private static RunningWorker worker;

  private long executions;

  @BeforeAll
  static void start() throws Exception {
    embedder().write(repository, "embedder");
    embedder().serving("queue: {max_size: 1}").write(repository, "narrow");
    DEVICE.passes.release(1_000_000);
    worker =
        new RunningWorker(repository, DEVICE, "--roundhouse.worker.scheduler.max-queued-bytes=1MB")
            .awaitLoaded();
  }

  private static TestBundle embedder() {
    return TestBundle.doubling(2, 1, 4)
        .changed(
            "batch_sizes",
            """
            task: embed
            client_inputs: [{name: text, dtype: bytes, shape: [n]}]
            client_outputs: [{name: y, dtype: f32, shape: [n, 2]}]
            batch_sizes""")
        .file("Model.java", HOOKS.getBytes(StandardCharsets.UTF_8));
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @BeforeEach
  void shut() {
    DEVICE.passes.drainPermits();
    DEVICE.arrivals.drainPermits();
    executions = count(Metric.EXECUTIONS);
  }

  @AfterEach
  void shouldHoldNothingAndServe() throws Exception {
    DEVICE.passes.release(1_000_000);
    worker.assertHoldsNothing();
    assertAnswered(send(3, "").get(30, TimeUnit.SECONDS), 3);
  }

  @Test
  void shouldEndWhenTheDeadlinePassesInTheMiddle() throws Exception {
    DEVICE.passes.release(2);
    CompletableFuture<HttpResponse<byte[]>> answer =
        send(3, ",\"parameters\":{\"timeout\":400000}");
    long over = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(400 + 1_000);
    DEVICE.arrivals.acquire(3);
    await(() -> System.nanoTime() - over > 0); // which the dispatch thread sees behind the run
    DEVICE.passes.release(1_000);
    HttpResponse<byte[]> ended = answer.get(30, TimeUnit.SECONDS);
    assertThat(ended.statusCode()).isEqualTo(504);
    JsonNode error = JSON.readTree(ended.body()).get("error");
    assertThat(error.get("message").stringValue()).contains("deadline");
    assertThat(count(Metric.EXECUTIONS) - executions).isLessThan(PARTS);
  }

  @Test
  void shouldRunNothingMoreWhenTheCallerLeaves() throws Exception {
    long cancelled = count(Metric.CANCELLED);
    long accepted = count(Metric.ACCEPTED);
    byte[] body = body("embedder", 3, "").getBytes(StandardCharsets.UTF_8);
    DEVICE.passes.release(1);
    try (Socket caller = new Socket("127.0.0.1", worker.port("http"))) {
      String head =
          "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
              .formatted(body.length);
      caller.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      caller.getOutputStream().write(body);
      DEVICE.arrivals.acquire(2);
      await(() -> count(Metric.ACCEPTED) - accepted >= 4);
    }
    await(() -> count(Metric.CANCELLED) > cancelled); // one that has waited
    DEVICE.passes.release(1_000);
    worker.assertHoldsNothing();
    assertThat(count(Metric.EXECUTIONS) - executions).isLessThan(PARTS);
  }

  @Test
  void shouldRefuseTheWholeAndServeTheNextWhenMemoryIsFull() throws Exception {
    DEVICE.passes.release(1_000_000);
    int answered = 0;
    int refused = 0;
    for (int length = 1 << 10; length <= 1 << 18; length <<= 1) {
      HttpResponse<byte[]> ended = send(length, "").get(30, TimeUnit.SECONDS);
      if (ended.statusCode() == 429) {
        refused++;
        assertThat(JSON.readTree(ended.body()).has("error")).isTrue();
      } else {
        assertThat(refused).as("refused with shorter texts than %d", length).isZero();
        assertAnswered(ended, length);
        answered++;
      }
      worker.assertHoldsNothing();
    }
    assertThat(answered).isPositive();
    assertThat(refused).isPositive();
  }

  /** Whichever of them comes to the queue first, which threads decide. */
  @RepeatedTest(5)
  void shouldAnswerAllWhereFewerMayWaitThanThereAreParts() throws Exception {
    CompletableFuture<HttpResponse<byte[]>> running = holdTheDevice();
    CompletableFuture<HttpResponse<byte[]>> answer = sendUntilOneWaits();
    DEVICE.passes.release(1_000);
    assertAnswered(answer.get(30, TimeUnit.SECONDS), 3);
    assertAnswered(running.get(30, TimeUnit.SECONDS), 3);
  }

  @Test
  void shouldRefuseTheWholeWhenOthersTakeTheRoom() throws Exception {
    CompletableFuture<HttpResponse<byte[]>> running = holdTheDevice();
    CompletableFuture<HttpResponse<byte[]>> first = sendUntilOneWaits();
    HttpResponse<byte[]> second = send("narrow", 3).get(30, TimeUnit.SECONDS);
    assertThat(second.statusCode()).isEqualTo(429);
    assertThat(JSON.readTree(second.body()).get("error").get("message").stringValue())
        .contains("serving.queue.max_size");
    DEVICE.passes.release(1_000);
    assertAnswered(first.get(30, TimeUnit.SECONDS), 3);
    assertAnswered(running.get(30, TimeUnit.SECONDS), 3);
  }

  /** From now on nothing leaves a queue. */
  private static CompletableFuture<HttpResponse<byte[]>> holdTheDevice() throws Exception {
    CompletableFuture<HttpResponse<byte[]>> running = send(3, "");
    DEVICE.arrivals.acquire();
    return running;
  }

  /** Of four parts that are begun at once, one waits, and there is no room for the others. */
  private static CompletableFuture<HttpResponse<byte[]>> sendUntilOneWaits() {
    long turnedAway = turnedAway();
    CompletableFuture<HttpResponse<byte[]>> sent = send("narrow", 3);
    await(() -> turnedAway() - turnedAway >= 3);
    return sent;
  }

  /** Before their hooks began, or behind them. */
  private static long turnedAway() {
    return count("narrow", Metric.REFUSED_FULL) + count("narrow", Metric.FAILED);
  }

  private static void assertAnswered(HttpResponse<byte[]> answer, int length) {
    assertThat(answer.statusCode()).isEqualTo(200);
    JsonNode data = JSON.readTree(answer.body()).get("data");
    assertThat(data).hasSize(TEXTS);
    for (JsonNode each : data) {
      assertThat(each.get("embedding").get(0).floatValue()).isEqualTo(2f * length);
    }
  }

  private static String body(String model, int length, String more) {
    String text = "\"" + "x".repeat(length) + "\"";
    return IntStream.range(0, TEXTS)
        .mapToObj(i -> text)
        .collect(
            Collectors.joining(",", "{\"model\":\"" + model + "\",\"input\":[", "]" + more + "}"));
  }

  private static CompletableFuture<HttpResponse<byte[]>> send(int length, String more) {
    return send(body("embedder", length, more));
  }

  private static CompletableFuture<HttpResponse<byte[]>> send(String model, int length) {
    return send(body(model, length, ""));
  }

  private static CompletableFuture<HttpResponse<byte[]>> send(String body) {
    return worker.sendAsync(worker.http("/v1/embeddings").POST(BodyPublishers.ofString(body)));
  }

  private static long count(Metric metric) {
    return count("embedder", metric);
  }

  private static long count(String model, Metric metric) {
    return worker.bean(Engine.class).reports().counters(model).orElseThrow().get(metric);
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean() && !Thread.currentThread().isInterrupted()) {
      Thread.onSpinWait();
    }
  }

  /** Doubles as many times as it may. */
  private static final class Turnstile implements ReferenceFunction {
    final Semaphore passes = new Semaphore(0);
    final Semaphore arrivals = new Semaphore(0);

    @Override
    public void apply(
        DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results) {
      arrivals.release();
      passes.acquireUninterruptibly();
      TestBundle.DOUBLE.apply(program, arguments, results);
    }
  }
}
