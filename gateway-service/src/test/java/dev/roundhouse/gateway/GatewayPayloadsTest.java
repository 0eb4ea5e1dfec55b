package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.platform.payload.PayloadCollector;
import dev.roundhouse.platform.payload.PayloadCollector.Received;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a gateway sends to a collector of payloads. */
@Timeout(120)
class GatewayPayloadsTest {
  private static final String REQUEST = "org.kubeflow.serving.inference.request";
  private static final String RESPONSE = "org.kubeflow.serving.inference.response";

  private static PayloadCollector collector;
  private static FakeWorker worker;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    collector = new PayloadCollector();
    worker = new FakeWorker("w0");
    gateway =
        new RunningGateway(
            List.of(worker),
            "--roundhouse.gateway.ejection.time=10ms",
            "--roundhouse.gateway.payload-log.url=" + collector.url(),
            "--roundhouse.gateway.payload-log.models=both,left");
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    worker.close();
    collector.close();
  }

  @BeforeEach
  void begin() throws Exception {
    worker.reset("both", "left", "other");
    gateway.awaitReady(1);
  }

  @AfterEach
  void shouldHoldNothingAnyMore() throws Exception {
    RunningGateway.await("all is sent", () -> log().waitingBytes() == 0);
    assertThat(collector.waiting()).isZero();
  }

  private static PayloadLog log() {
    return gateway.bean(PayloadLog.class);
  }

  private static ModelInferRequest request(String model, int bytes) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .setId("seven")
        .addInputs(
            ModelInferRequest.InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("INT8")
                .addShape(1)
                .addShape(bytes))
        .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
        .build();
  }

  @Test
  void shouldSendCallsAsDocuments() throws Exception {
    gateway.stub().modelInfer(request("both", 3));
    Received request = collector.next();
    assertThat(request.body())
        .isEqualTo(
            "{\"id\":\"seven\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1,3],\"data\":[0,0,0]}]}");
    assertThat(request.header("ce-type")).isEqualTo(REQUEST);
    assertThat(request.header("ce-id")).isEqualTo("seven");
    assertThat(request.header("ce-source")).isEqualTo("roundhouse-gateway");
    Received response = collector.next();
    assertThat(response.header("ce-type")).isEqualTo(RESPONSE);
    assertThat(response.body())
        .isEqualTo("{\"id\":\"w0\",\"model_name\":\"both\",\"model_version\":\"\",\"outputs\":[]}");
  }

  @Test
  void shouldSendBodiesOfHttpAsTheyAre() throws Exception {
    String body = "{\"inputs\": [ ]}";
    var answer = gateway.send("POST", "/v2/models/both/infer", body, "Content-Type", "text/odd");
    Received request = collector.next();
    assertThat(request.body()).isEqualTo(body);
    assertThat(request.header("content-type")).isEqualTo("text/odd");
    assertThat(request.header("ce-id")).hasSize(36);
    Received response = collector.next();
    assertThat(response.body()).isEqualTo(answer.body());
    assertThat(response.header("ce-id")).isEqualTo(request.header("ce-id"));
    gateway.send("POST", "/v2/models/both/infer", body, "ce-id", "mine");
    assertThat(collector.next().header("ce-id")).isEqualTo("mine");
    assertThat(collector.next().header("ce-id")).isEqualTo("mine");
  }

  @Test
  void shouldLeaveOutWhatIsLargeAndWhatWasNotChosen() throws Exception {
    long large = log().dropped(Drop.LARGE);
    gateway.stub().modelInfer(request("other", 3));
    gateway.send("POST", "/v2/models/other/infer", "{}");
    gateway.stub().modelInfer(request("both", 70_000));
    RunningGateway.await("both are counted", () -> log().dropped(Drop.LARGE) == large + 2);
    String body = "x".repeat(3_000_000);
    gateway.send("POST", "/v2/models/left/infer", body);
    RunningGateway.await("both are counted", () -> log().dropped(Drop.LARGE) == large + 4);
  }

  @Test
  void shouldSendNoAnswerWhereThereIsNone() throws Exception {
    worker.failure = Status.INVALID_ARGUMENT;
    assertThatThrownBy(() -> gateway.stub().modelInfer(request("both", 3)))
        .isInstanceOf(StatusRuntimeException.class);
    assertThat(collector.next().header("ce-type")).isEqualTo(REQUEST);
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").statusCode()).isEqualTo(503);
    assertThat(collector.next().header("ce-type")).isEqualTo(REQUEST);
  }
}
