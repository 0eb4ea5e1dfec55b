package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.codec.GatewayProtocol;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which worker answers a request, and what becomes of it when that cannot. */
class GatewayTest extends TwoWorkers {
  @Test
  void shouldGiveEachWorkerItsTurnAndPassPayloadsOn() {
    ByteString payload = ByteString.copyFrom(new byte[300_000]);
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 4; i++) {
      ModelInferResponse answer =
          gateway.stub().modelInfer(request("both").addRawInputContents(payload).build());
      assertThat(answer.getRawOutputContents(0)).isEqualTo(payload);
      answered.add(answer.getId());
    }
    assertThat(answered).containsExactly("w0", "w1");
    assertThat(w0.calls).containsExactly("modelInfer both", "modelInfer both");
  }

  @Test
  void shouldAskTheWorkerThatHasTheModel() {
    for (int i = 0; i < 3; i++) {
      assertThat(gateway.stub().modelInfer(request("right").build()).getId()).isEqualTo("w1");
    }
    assertThat(metadata("left").getPlatform()).isEqualTo("w0");
    StatusRuntimeException refusal = refusal(() -> metadata("none"));
    assertThat(refusal).hasMessage("NOT_FOUND: Request for unknown model: 'none' is not found");
  }

  @Test
  void shouldKeepSequencesAndStreamsWithTheirWorker() throws Exception {
    Set<String> homes = new TreeSet<>();
    for (int sequence = 1; sequence <= 20; sequence++) {
      Set<String> answered = new TreeSet<>();
      for (int step = 0; step < 3; step++) {
        answered.add(gateway.stub().modelInfer(step("both", sequence)).getId());
      }
      assertThat(answered).hasSize(1);
      homes.addAll(answered);
    }
    assertThat(homes).containsExactly("w0", "w1");
    List<String> answers = stream("both", 10);
    assertThat(answers).hasSize(10);
    assertThat(new TreeSet<>(answers)).hasSize(1);
  }

  @Test
  void shouldAskAnotherWhenAWorkerHasGone() throws Exception {
    w0.stop();
    for (int i = 0; i < 20; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
    }
    gateway.awaitReady(1);
    assertThat(gateway.management("/metrics"))
        .contains(
            "gateway_worker_ready{worker=\"w0\"} 0.0", "gateway_worker_ready{worker=\"w1\"} 1.0");
    w0.start();
    gateway.awaitReady(2);
    Set<String> answered = new TreeSet<>();
    RunningGateway.await(
        "w0 gets requests again",
        () -> {
          answered.add(gateway.stub().modelInfer(request("both").build()).getId());
          return answered.size() == 2;
        });
  }

  @Test
  void shouldAskNobodyElseForWhatAWorkerHadBegunWithWhenItFailed() throws Exception {
    for (FakeWorker worker : List.of(w0, w1)) {
      worker.failure = Status.UNAVAILABLE.withDescription("the server has failed");
      worker.began = true;
    }
    Metadata trailers =
        refusal(() -> gateway.stub().modelInfer(request("both").build())).getTrailers();
    assertThat(Objects.requireNonNull(trailers).get(FakeWorker.BEGAN)).isEqualTo("true");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(1);
    var answer = gateway.send("POST", "/v2/models/both/infer", "{}");
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue(FakeWorker.BEGAN.name())).hasValue("true");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(2);
  }

  /** Only its client can register it, so nothing is gained by asking the other. */
  @Test
  void shouldPassOnAtOnceThatARegionIsNotThere() throws Exception {
    for (FakeWorker worker : List.of(w0, w1)) {
      worker.failure = Status.NOT_FOUND.withDescription("no such region");
      worker.about = "region";
    }
    Metadata trailers =
        refusal(() -> gateway.stub().modelInfer(request("both").build())).getTrailers();
    assertThat(Objects.requireNonNull(trailers).get(FakeWorker.ABOUT)).isEqualTo("region");
    assertThat(w0.calls.size() + w1.calls.size()).as("workers asked over gRPC").isEqualTo(1);
    var answer = gateway.send("POST", "/v2/models/both/infer", "{}");
    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(answer.headers().firstValue(FakeWorker.ABOUT.name())).hasValue("region");
    assertThat(w0.calls.size() + w1.calls.size()).as("and over HTTP").isEqualTo(2);
  }

  /** A queue's timeout: another worker would let it wait as long, and this one is well. */
  @Test
  void shouldAskNobodyElseWhenItIsUpToTheRequestAndLeaveNoWorkerAlone() throws Exception {
    for (FakeWorker worker : List.of(w0, w1)) {
      worker.failure = Status.UNAVAILABLE.withDescription("Request timeout expired");
      worker.about = "request";
    }
    for (int i = 0; i < 10; i++) {
      assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
          .hasMessage("UNAVAILABLE: Request timeout expired");
      assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").statusCode()).isEqualTo(503);
    }
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(20);
    assertThat(gateway.management("/metrics")).contains("gateway_ejections_total 0.0");
  }

  @Test
  void shouldAskAnotherWhenItIsUpToTheModelAndLeaveNoWorkerAlone() throws Exception {
    w0.failure = Status.UNAVAILABLE.withDescription("it is loading");
    w0.about = "model";
    for (int i = 0; i < 10; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
      assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").body()).startsWith("w1 ");
    }
    assertThat(w0.calls).as("it is asked again").hasSizeGreaterThan(3);
    assertThat(gateway.management("/metrics")).contains("gateway_ejections_total 0.0");
  }

  /** Its weights are not on the device, and nobody brings them there; they are on the other's. */
  @Test
  void shouldAskAnotherWhenAModelIsOnTheDevicesOfSome() throws Exception {
    w0.failure = Status.FAILED_PRECONDITION.withDescription("model 'both' is not on the device");
    w0.about = "model";
    for (int i = 0; i < 10; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
      assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").body()).startsWith("w1 ");
    }
    assertThat(gateway.management("/metrics")).contains("gateway_ejections_total 0.0");
    w1.failure = w0.failure;
    w1.about = "model";
    assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
        .hasMessage("FAILED_PRECONDITION: model 'both' is not on the device");
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").statusCode()).isEqualTo(400);
  }

  @Test
  void shouldPassStatusesOnUnchangedAndNotAskAnother() {
    w0.failure = Status.INVALID_ARGUMENT.withDescription("bad shape of w0");
    w1.failure = Status.INVALID_ARGUMENT.withDescription("bad shape of w1");
    assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
        .hasMessageStartingWith("INVALID_ARGUMENT: bad shape of w");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(1);
  }

  @Test
  void shouldEndAStreamWithoutAMessageAsAWorkerDoes() throws Exception {
    CompletableFuture<Throwable> end = new CompletableFuture<>();
    gateway
        .asyncStub()
        .modelStreamInfer(
            new StreamObserver<>() {
              @Override
              public void onNext(ModelStreamInferResponse answer) {}

              @Override
              public void onError(Throwable failure) {
                end.complete(failure);
              }

              @Override
              public void onCompleted() {
                end.complete(null);
              }
            })
        .onCompleted();
    assertThat(end.get(60, TimeUnit.SECONDS)).isNull();
    assertThat(w0.calls.size() + w1.calls.size()).isZero();
  }

  @Test
  void shouldLookAgainWhenAWorkerHasNotTheModelAnyMore() throws Exception {
    w1.add("left", 0);
    RunningGateway.await("w1 has it", () -> metadataOf("left").size() == 2);
    w0.models.remove("left");
    for (int i = 0; i < 4; i++) {
      assertThat(gateway.stub().modelInfer(request("left").build()).getId()).isEqualTo("w1");
    }
  }

  private Set<String> metadataOf(String model) {
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 2; i++) {
      answered.add(gateway.stub().modelInfer(request(model).build()).getId());
    }
    return answered;
  }

  // --- nobody is there

  @Test
  void shouldSayThatNobodyIsReady() throws Exception {
    w0.ready = false;
    w1.stop();
    gateway.awaitReady(0);
    RunningGateway.await(
        "it is not ready",
        () -> !gateway.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
    assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
        .hasMessage("UNAVAILABLE: no worker is ready");
    assertThat(refusal(() -> gateway.stub().modelReady(ModelReadyRequest.getDefaultInstance())))
        .hasMessage("UNAVAILABLE: no worker is ready");
    assertThat(gateway.send("GET", "/v2/health/ready", "").statusCode()).isEqualTo(503);
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}"))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(503);
              assertThat(answer.body()).isEqualTo("{\"error\":\"no worker is ready\"}");
            });
    assertThat(gateway.management("/actuator/health"))
        .contains("\"w0\":\"not ready\"", "\"w1\":\"UNAVAILABLE");
    w1.start();
    gateway.awaitReady(1);
  }

  @Test
  void shouldNotAskAWorkerOfALaterProtocolAndSayWhy() throws Exception {
    w0.protocol = GatewayProtocol.LATEST + 1;
    gateway.awaitReady(1);
    for (int i = 0; i < 10; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
    }
    assertThat(w0.calls).isEmpty();
    assertThat(gateway.management("/actuator/workers"))
        .contains(
            "it speaks versions 2 to 2 of the protocol with gateways, and this gateway 0 to 1; upgrade the gateway");
    w0.protocol = GatewayProtocol.OLDEST;
    gateway.awaitReady(2);
  }

  @Test
  void shouldRefuseToStartWithoutWorkers() {
    assertThatThrownBy(() -> new RunningGateway(List.of()))
        .hasStackTraceContaining("the gateway has no workers");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.helth.interval=1s"))
        .hasStackTraceContaining("Unknown configuration key 'roundhouse.gateway.helth.interval'");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.hedging.quantile=0.95"))
        .hasStackTraceContaining("roundhouse.gateway.hedging.quantile is 0.95, and hedging.delay");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.discovery.grpc-port=9001"))
        .hasStackTraceContaining("roundhouse.gateway.discovery.grpc-port is 9001, and no workers");
  }

  // --- of this test

  private ModelMetadataResponse metadata(String model) {
    return gateway.stub().modelMetadata(ModelMetadataRequest.newBuilder().setName(model).build());
  }

  /** Who has answered each of so many requests of one stream. */
  private List<String> stream(String model, int requests) throws Exception {
    List<String> answered = new ArrayList<>();
    CompletableFuture<List<String>> end = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> stream =
        gateway
            .asyncStub()
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    answered.add(answer.getInferResponse().getId());
                  }

                  @Override
                  public void onError(Throwable failure) {
                    end.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {
                    end.complete(answered);
                  }
                });
    for (int i = 0; i < requests; i++) {
      stream.onNext(request(model).build());
    }
    stream.onCompleted();
    return end.get(60, TimeUnit.SECONDS);
  }
}
