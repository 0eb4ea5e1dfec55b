package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** A gateway before two workers that are told what to answer. */
@Timeout(180)
abstract class TwoWorkers {
  static FakeWorker w0;
  static FakeWorker w1;
  static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0");
    w1 = new FakeWorker("w1");
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.ejection.time=10ms",
            "--roundhouse.gateway.server.max-message-size=8MB");
  }

  @BeforeEach
  void shouldBeginWithTwoWorkers() throws Exception {
    w0.reset("both", "left");
    w1.reset("both", "right");
    Workers workers = gateway.bean(Workers.class);
    RunningGateway.await(
        "the gateway has seen the workers as they are",
        () ->
            workers.all().stream()
                .allMatch(
                    look ->
                        look.ready()
                            && look.models()
                                .equals(
                                    look.link().name().equals("w0")
                                        ? Map.of("both", true, "left", true)
                                        : Map.of("both", true, "right", true))));
    gateway.awaitReady(2);
    w0.calls.clear();
    w1.calls.clear();
  }

  @AfterEach
  void shouldCountNoWorkAnyMore() throws Exception {
    ModelRoutes routes = gateway.bean(ModelRoutes.class);
    RunningGateway.await(
        "no work is counted any more",
        () -> routes.ledger("w0").nanos() == 0 && routes.ledger("w1").nanos() == 0);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
  }

  /** For a model that takes rows of four. */
  static ModelInferRequest.Builder request(String model) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(InferInputTensor.newBuilder().setName("x").addShape(1).addShape(4));
  }

  /** Of a sequence. */
  static ModelInferRequest step(String model, long sequence) {
    return request(model)
        .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(sequence).build())
        .build();
  }

  /** What a call ends with. */
  static StatusRuntimeException refusal(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run);
  }
}
