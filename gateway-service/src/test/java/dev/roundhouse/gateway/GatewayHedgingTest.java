package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.stub.ClientCalls;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A gateway that sends calls to a second worker, before one that does not answer. */
@Timeout(180)
class GatewayHedgingTest {
  private static final int MOST_CALLS = 50;
  private static FakeWorker slow;
  private static FakeWorker fast;
  private static RunningGateway gateway;
  private CountDownLatch answers = new CountDownLatch(1);

  @BeforeAll
  static void start() throws Exception {
    slow = new FakeWorker("slow", "m");
    fast = new FakeWorker("fast", "m");
    gateway =
        new RunningGateway(
            List.of(slow, fast),
            "--roundhouse.gateway.hedging.delay=50ms",
            "--roundhouse.gateway.hedging.quantile=0.99",
            "--roundhouse.gateway.hedging.max-share=1");
    gateway.awaitReady(2);
  }

  @BeforeEach
  void shouldBeginWithOneThatDoesNotAnswer() {
    slow.calls.clear();
    fast.calls.clear();
    slow.spent.clear();
    fast.spent.clear();
    slow.cancelled.set(0);
    fast.cancelled.set(0);
    slow.held = answers;
  }

  @AfterEach
  void shouldLeaveNothing() throws Exception {
    answers.countDown();
    slow.held = null;
    fast.held = null;
    ModelRoutes routes = gateway.bean(ModelRoutes.class);
    RunningGateway.await(
        "no work is counted any more",
        () -> routes.ledger("slow").nanos() == 0 && routes.ledger("fast").nanos() == 0);
    RunningGateway.await("nothing is held", () -> gateway.bean(ForwardingBudget.class).held() == 0);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    slow.close();
    fast.close();
  }

  @Test
  void shouldAnswerEveryCallByTheOtherWorker() throws Exception {
    long won = hedging().wonEver();
    long started = hedging().startedEver();
    ByteString payload = ByteString.copyFrom(new byte[300_000]);
    int calls = 0;
    while (slow.calls.size() < 3 && calls < MOST_CALLS) {
      ModelInferResponse answer =
          gateway.stub().modelInfer(request().addRawInputContents(payload).build());
      assertThat(answer.getId()).isEqualTo("fast");
      assertThat(answer.getRawOutputContents(0)).isEqualTo(payload);
      calls++;
    }
    assertThat(slow.calls).hasSizeGreaterThanOrEqualTo(3);
    RunningGateway.await(
        "the slow one is told that nobody waits", () -> slow.cancelled.get() == slow.calls.size());
    assertThat(fast.calls).as("one for each call").hasSize(calls);
    assertThat(fast.spent)
        .as("of a second's budget, the time before it was asked")
        .anyMatch(nanos -> nanos >= 50_000_000);
    assertThat(slow.spent)
        .as("nothing where it was asked first, else the time until the fast one was slow")
        .contains(0L)
        .allMatch(nanos -> nanos == 0 || nanos >= 50_000_000);
    assertThat(hedging().wonEver() - won)
        .as("of those that were started: the slow one may not have heard of a call at all")
        .isBetween(1L, hedging().startedEver() - started);
    assertThat(gateway.management("/actuator/workers"))
        .containsPattern("\"hedges\":\\{\"sentOn\":[1-9]")
        .containsPattern("\"taken\":[1-9][0-9]*,\"won\":[1-9]");
    String metrics = gateway.management("/metrics");
    assertThat(metrics).contains("gateway_hedges_started_total ", "gateway_hedges_won_total ");
    assertThat(metrics).contains("gateway_hedges_refused_total ");
  }

  @Test
  void shouldRecordThatASecondWorkerIsAsked(@TempDir Path folder) throws Exception {
    try (Recording recording = new Recording()) {
      recording.enable("dev.roundhouse.Hedge");
      recording.start();
      int calls = 0;
      while (slow.calls.isEmpty() && calls < MOST_CALLS) {
        gateway.stub().modelInfer(request().build());
        calls++;
      }
      recording.stop();
      Path file = folder.resolve("hedges.jfr");
      recording.dump(file);
      assertThat(RecordingFile.readAllEvents(file))
          .as("one of those that were slow at their first worker")
          .anyMatch(
              each ->
                  each.getString("model").equals("m") && each.getString("worker").equals("fast"));
    }
  }

  @Test
  void shouldAnswerEveryRequestOverHttpByTheOtherWorker() throws Exception {
    long won = hedging().wonEver();
    int calls = 0;
    while (slow.calls.size() < 3 && calls < MOST_CALLS) {
      var answer = gateway.send("POST", "/v2/models/m/infer", "{\"inputs\":[]}");
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).startsWith("fast ");
      calls++;
    }
    assertThat(slow.calls).hasSizeGreaterThanOrEqualTo(3);
    assertThat(fast.calls).as("one for each call").hasSize(calls);
    assertThat(hedging().wonEver() - won).isPositive();
  }

  @Test
  void shouldNotSendTwiceWhatWritesSharedMemory() throws Exception {
    ModelInferRequest writing =
        request()
            .addOutputs(
                InferRequestedOutputTensor.newBuilder()
                    .setName("y")
                    .putParameters(
                        "shared_memory_region",
                        InferParameter.newBuilder().setStringParam("r").build()))
            .build();
    shouldBeSentOnce(() -> sent(writing), () -> sent(request().build()));
  }

  @Test
  void shouldNotSendTwiceWhatWritesSharedMemoryOverHttp() throws Exception {
    String writing =
        "{\"inputs\":[],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"shared_memory_region\":\"r\"}}]}";
    shouldBeSentOnce(() -> sent(writing), () -> sent("{\"inputs\":[]}"));
  }

  /**
   * One call at each worker: when the second is sent to the other too, the first's time is over.
   */
  private void shouldBeSentOnce(Supplier<Future<?>> once, Supplier<Future<?>> twice)
      throws Exception {
    fast.held = answers;
    long before = hedging().startedEver();
    Future<?> first = once.get();
    RunningGateway.await("it has come", () -> slow.calls.size() + fast.calls.size() == 1);
    FakeWorker its = slow.calls.isEmpty() ? fast : slow;
    FakeWorker other = its == slow ? fast : slow;
    Future<?> second = twice.get();
    RunningGateway.await("the second was sent twice", () -> its.calls.size() == 2);
    assertThat(other.calls).hasSize(1);
    assertThat(hedging().startedEver() - before).isEqualTo(1);
    answers.countDown();
    first.get(60, TimeUnit.SECONDS);
    second.get(60, TimeUnit.SECONDS);
    assertThat(other.calls).hasSize(1);
  }

  private static Future<ModelInferResponse> sent(ModelInferRequest request) {
    return ClientCalls.futureUnaryCall(
        gateway
            .stub()
            .getChannel()
            .newCall(
                GRPCInferenceServiceGrpc.getModelInferMethod(), gateway.stub().getCallOptions()),
        request);
  }

  private static CompletableFuture<String> sent(String body) {
    CompletableFuture<String> answer = new CompletableFuture<>();
    Thread.startVirtualThread(
        () -> {
          try {
            answer.complete(gateway.send("POST", "/v2/models/m/infer", body).body());
          } catch (Exception e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  private static Hedging hedging() {
    return gateway.bean(Hedging.class);
  }

  private static ModelInferRequest.Builder request() {
    return ModelInferRequest.newBuilder()
        .setModelName("m")
        .addInputs(InferInputTensor.newBuilder().setName("x").addShape(1).addShape(4));
  }
}
