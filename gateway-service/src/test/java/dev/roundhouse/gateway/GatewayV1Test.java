package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.TextFormat;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceBlockingStub;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelReadyState;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.ServerStatus;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The v1 protocol through a gateway before two workers that are told what to answer. */
@Timeout(180)
class GatewayV1Test {
  private static FakeWorker w0;
  private static FakeWorker w1;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0");
    w1 = new FakeWorker("w1");
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.v1.enabled=true",
            "--roundhouse.gateway.ejection.time=10ms");
  }

  @BeforeEach
  void shouldBeginWithTwoWorkers() throws Exception {
    w0.reset("both", "left");
    w1.reset("both", "right");
    RunningGateway.await(
        "the gateway has seen the workers as they are",
        () ->
            gateway.bean(Workers.class).all().stream()
                .allMatch(look -> look.ready() && look.models().size() == 2));
    gateway.awaitReady(2);
    w0.calls.clear();
    w1.calls.clear();
  }

  @AfterEach
  void shouldCountNoWorkAnyMore() throws Exception {
    ModelRoutes routes = gateway.bean(ModelRoutes.class);
    RunningGateway.await(
        "no work is counted any more",
        () -> routes.ledger("w0").open() == 0 && routes.ledger("w1").open() == 0);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
  }

  private static GRPCServiceBlockingStub stub() {
    return GRPCServiceGrpc.newBlockingStub(gateway.channel());
  }

  private static InferRequest infer(String model, long sequence) {
    return InferRequest.newBuilder()
        .setModelName(model)
        .setModelVersion(-1)
        .setMetaData(InferRequestHeader.newBuilder().setBatchSize(3).setCorrelationId(sequence))
        .addRawInput(ByteString.copyFromUtf8("payload"))
        .build();
  }

  // --- inference

  @Test
  void shouldSendInferOnToAWorkerThatHasTheModel() {
    InferResponse answer = stub().infer(infer("right", 0));
    assertThat(answer.getRequestStatus().getServerId()).isEqualTo("w1");
    assertThat(answer.getMetaData().getBatchSize()).isEqualTo(3);
    assertThat(answer.getRawOutput(0).toStringUtf8()).isEqualTo("payload");
    Set<String> asked = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      asked.add(stub().infer(infer("both", 0)).getRequestStatus().getServerId());
    }
    assertThat(asked).containsExactlyInAnyOrder("w0", "w1");
  }

  @Test
  void shouldKeepASequenceAtItsWorker() {
    for (long sequence = 1; sequence < 8; sequence++) {
      Set<String> asked = new HashSet<>();
      for (int i = 0; i < 4; i++) {
        asked.add(stub().infer(infer("both", sequence)).getRequestStatus().getServerId());
      }
      assertThat(asked).hasSize(1);
    }
  }

  @Test
  void shouldAskAnotherWorkerWhereOneCannotAnswer() {
    w0.failure = Status.UNAVAILABLE.withDescription("not now");
    for (int i = 0; i < 4; i++) {
      assertThat(stub().infer(infer("both", 0)).getRequestStatus().getServerId()).isEqualTo("w1");
    }
    assertThat(w0.calls).contains("v1 both");
  }

  @Test
  void shouldSendAStreamOnToTheWorkerOfItsFirstMessage() throws Exception {
    BlockingQueue<InferResponse> answers = new LinkedBlockingQueue<>();
    BlockingQueue<String> ends = new LinkedBlockingQueue<>();
    StreamObserver<InferRequest> requests =
        GRPCServiceGrpc.newStub(gateway.channel())
            .streamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(InferResponse answer) {
                    answers.add(answer);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    ends.add(failure.toString());
                  }

                  @Override
                  public void onCompleted() {
                    ends.add("done");
                  }
                });
    for (int i = 0; i < 3; i++) {
      requests.onNext(infer("left", 0));
      InferResponse answer = answers.poll(60, TimeUnit.SECONDS);
      assertThat(answer).isNotNull();
      assertThat(answer.getRequestStatus().getServerId()).isEqualTo("w0");
    }
    requests.onCompleted();
    assertThat(ends.poll(60, TimeUnit.SECONDS)).isEqualTo("done");
  }

  @Test
  void shouldSendInferOnOverHttpWithItsHeaders() throws Exception {
    HttpResponse<String> answer =
        gateway.send(
            "POST",
            "/api/infer/right/2?format=binary",
            "tensors",
            HeaderText.REQUEST,
            "batch_size: 2 input { name: \"x\" }");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).isEqualTo("w1 /api/infer/right/2 tensors");
    Set<String> homes = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      homes.add(
          gateway
              .send("POST", "/api/infer/both", "t", HeaderText.REQUEST, "correlation_id: 5")
              .body()
              .substring(0, 2));
    }
    assertThat(homes).hasSize(1);
    assertThat(stub().infer(infer("both", 5)).getRequestStatus().getServerId())
        .isEqualTo(homes.iterator().next());
  }

  @Test
  void shouldTellInTermsOfV1WhatItRefusesItself() throws Exception {
    w0.ready = false;
    w1.ready = false;
    RunningGateway.await("it is seen", () -> gateway.bean(Workers.class).ready().isEmpty());
    HttpResponse<String> answer = gateway.send("POST", "/api/infer/both", "t");
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue(HeaderText.STATUS))
        .hasValue("code: UNAVAILABLE msg: \"no worker is ready\"");
    assertThat(answer.body()).isEqualTo("{\"error\":\"no worker is ready\"}");
    StatusResponse status = stub().status(StatusRequest.getDefaultInstance());
    assertThat(status.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.UNAVAILABLE);
    assertThat(status.getRequestStatus().getMsg()).isEqualTo("no worker is ready");
    HealthResponse health = stub().health(HealthRequest.newBuilder().setMode("ready").build());
    assertThat(health.getHealth()).isFalse();
    assertThat(gateway.send("GET", "/api/health/ready", "").statusCode()).isEqualTo(400);
    assertThat(gateway.send("GET", "/api/health/live", "").statusCode()).isEqualTo(200);
  }

  // --- what all workers answer together

  @Test
  void shouldTellOfEveryModelAsFarAsItHasGot() throws Exception {
    w0.models.put("both", "LOADING");
    StatusResponse all = stub().status(StatusRequest.getDefaultInstance());
    assertThat(all.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(all.getServerStatus().getModelStatusMap().keySet())
        .containsExactlyInAnyOrder("both", "left", "right");
    assertThat(
            all.getServerStatus()
                .getModelStatusOrThrow("both")
                .getVersionStatusOrThrow(1)
                .getReadyState())
        .isEqualTo(ModelReadyState.MODEL_READY);
    StatusResponse one = stub().status(StatusRequest.newBuilder().setModelName("right").build());
    assertThat(one.getServerStatus().getModelStatusMap()).containsOnlyKeys("right");
    StatusResponse none = stub().status(StatusRequest.newBuilder().setModelName("none").build());
    assertThat(none.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.NOT_FOUND);

    HttpResponse<String> text = gateway.send("GET", "/api/status/left", "");
    assertThat(text.statusCode()).isEqualTo(200);
    assertThat(text.headers().firstValue(HeaderText.STATUS).orElseThrow())
        .startsWith("code: SUCCESS");
    ServerStatus.Builder read = ServerStatus.newBuilder();
    TextFormat.merge(text.body(), read);
    assertThat(read.getModelStatusMap()).containsOnlyKeys("left");
    w0.models.put("both", "READY");
  }

  @Test
  void shouldLoadWithEveryWorkerAndListWhatAllHave() throws Exception {
    assertThat(
            stub()
                .repository(RepositoryRequest.newBuilder().setIndex(true).build())
                .getIndex()
                .getModelsList())
        .extracting(ModelEntry::getName)
        .containsExactly("both", "left", "right");
    assertThat(
            stub()
                .modelControl(
                    ModelControlRequest.newBuilder()
                        .setModelName("both")
                        .setType(ModelControlRequest.Type.LOAD)
                        .build())
                .getRequestStatus()
                .getCode())
        .isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(List.of(w0, w1)).allMatch(each -> each.calls.contains("load both"));
    w1.failure = Status.NOT_FOUND.withDescription("it is gone");
    HttpResponse<String> refused = gateway.send("POST", "/api/modelcontrol/load/both", "");
    assertThat(refused.statusCode()).isEqualTo(404);
    assertThat(refused.headers().firstValue(HeaderText.STATUS).orElseThrow())
        .startsWith("code: NOT_FOUND")
        .contains("(of 2, 1 failed): it is gone");
  }

  @Test
  void shouldRegisterSharedMemoryWithEveryWorker() throws Exception {
    assertThat(
            gateway.send("POST", "/api/sharedmemorycontrol/register/r//key/0/64", "").statusCode())
        .isEqualTo(200);
    SharedMemoryControlResponse status =
        stub()
            .sharedMemoryControl(
                SharedMemoryControlRequest.newBuilder()
                    .setStatus(SharedMemoryControlRequest.Status.getDefaultInstance())
                    .build());
    assertThat(status.getRequestStatus().getMsg()).isEmpty();
    assertThat(status.getSharedMemoryStatus().getSharedMemoryRegionList())
        .singleElement()
        .satisfies(
            region -> {
              assertThat(region.getName()).isEqualTo("r");
              assertThat(region.getSystemSharedMemory().getSharedMemoryKey()).isEqualTo("/key");
              assertThat(region.getByteSize()).isEqualTo(64);
            });
    assertThat(gateway.send("POST", "/api/sharedmemorycontrol/unregisterall", "").statusCode())
        .isEqualTo(200);
    assertThat(
            stub()
                .sharedMemoryControl(SharedMemoryControlRequest.getDefaultInstance())
                .getRequestStatus()
                .getCode())
        .isEqualTo(RequestStatusCode.INVALID_ARG);
  }

  @Test
  void shouldServeNoneOfItWhereItIsOff() throws Exception {
    try (RunningGateway off = new RunningGateway(List.of(w0))) {
      off.awaitReady(1);
      List<Integer> codes = new ArrayList<>();
      for (String path : List.of("/api/infer/left", "/api/modelcontrol/load/left")) {
        codes.add(off.send("POST", path, "").statusCode());
      }
      codes.add(off.send("GET", "/api/status", "").statusCode());
      assertThat(codes).containsOnly(404);
      Map<String, byte[]> calls =
          Map.of(
              "nvidia.inferenceserver.GRPCService/Infer",
              infer("left", 0).toByteArray(),
              "nvidia.inferenceserver.GRPCService/Status",
              new byte[0]);
      for (Map.Entry<String, byte[]> call : calls.entrySet()) {
        assertThat(off.refusal(call.getKey(), call.getValue()).getCode())
            .isEqualTo(Status.Code.UNIMPLEMENTED);
      }
      assertThat(w0.calls).noneMatch(each -> each.contains("v1") || each.contains("/api/"));
    }
  }
}
