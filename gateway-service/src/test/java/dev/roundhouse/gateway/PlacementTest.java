package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.kserve.control.proto.GetSchedulingStatusRequest;
import dev.roundhouse.kserve.control.proto.GetSchedulingStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelSchedulingStatus;
import dev.roundhouse.kserve.control.proto.RepackRequest;
import dev.roundhouse.kserve.control.proto.RepackResponse;
import dev.roundhouse.kserve.control.proto.ReplicaPlacement;
import dev.roundhouse.kserve.control.proto.SchedulingPolicy;
import dev.roundhouse.kserve.control.proto.SetModelPlacementRequest;
import dev.roundhouse.kserve.control.proto.SetSchedulingPolicyRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Models that are placed on workers by what they cost, through the services of a whole gateway. */
@Timeout(120)
class PlacementTest {
  private static final String[] MODELS = {"a", "b", "c", "d"};

  private static FakeWorker w0;
  private static FakeWorker w1;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0", MODELS);
    w1 = new FakeWorker("w1", MODELS);
    w0.weightRoom = 2500;
    w1.weightRoom = 2500;
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.scheduling.mode=lpt_packing",
            "--roundhouse.gateway.scheduling.first-rebalance-compute-seconds=1000",
            "--roundhouse.gateway.scheduling.models.d.replicas=all");
    gateway.awaitReady(2);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
  }

  @Test
  void shouldMoveModelsByWhatTheyCost() throws Exception {
    RunningGateway.await("models are placed on both", () -> repacked() >= 1 && workers("d") == 2);
    // All are on w0's account, and a needs as much as b and c together.
    w0.add("a", 60);
    w0.add("b", 30);
    w0.add("c", 30);
    RunningGateway.await(
        "120 s of device time have been seen",
        () -> status().getRepack().getComputeAccumulatedSeconds() == 120);
    RepackResponse done =
        gateway.scheduling().repack(RepackRequest.newBuilder().setWaitSeconds(60).build());
    assertThat(done.getCompleted()).isTrue();
    assertThat(done.getCompletedSequence()).isEqualTo(done.getSequence());
    assertThat(done.getRepack().getLastTrigger()).isEqualTo("operator");
    assertThat(done.getRepack().getLastRepackComputeSeconds()).isEqualTo(120);
    Map<String, List<String>> placed = placed();
    assertThat(placed.get("d")).containsExactlyInAnyOrder("w0", "w1");
    assertThat(placed.get("b")).isEqualTo(placed.get("c"));
    assertThat(placed.get("a")).isNotEqualTo(placed.get("b")).hasSize(1);
    String home = Objects.requireNonNull(placed.get("a")).getFirst();
    for (int i = 0; i < 5; i++) {
      ModelInferRequest request = ModelInferRequest.newBuilder().setModelName("a").build();
      assertThat(gateway.stub().modelInfer(request).getId()).isEqualTo(home);
    }
    RunningGateway.await(
        "routed requests are shown",
        () ->
            model("a").getReplicasList().stream().mapToLong(ReplicaPlacement::getRoutedTotal).sum()
                == 5);
    assertThat(status().getWarningsList())
        .as("two models and the one that is everywhere do not fit on one of them")
        .hasSize(1)
        .first()
        .asString()
        .contains("is given 3000 bytes of weights and has room for 2500");
    assertThat(gateway.management("/metrics"))
        .contains("gateway_model_replicas{model=\"d\"} 2.0")
        .contains("gateway_repacks_total{trigger=\"operator\"} 1.0");
    assertThat(gateway.management("/actuator/placement"))
        .contains("\"mode\":\"lpt_packing\"", "\"configuredReplicas\":", "\"routedTotal\":")
        .doesNotContainPattern("\"[a-z]+_[a-z_]+\":");
    assertThat(gateway.management("/actuator/placement?replicas=0"))
        .contains("\"name\":\"d\"", "\"effectiveReplicas\":2", "\"replicas\":[]")
        .doesNotContain("\"routedTotal\":");
    assertThat(gateway.management("/actuator/placement?replicas=-1"))
        .isEqualTo("{\"error\":\"replicas is -1; it is 0 or more, or is left out\"}");
  }

  @Test
  void shouldSpreadAModelWhenItIsToldTo() throws Exception {
    var told =
        gateway
            .scheduling()
            .setModelPlacement(
                SetModelPlacementRequest.newBuilder()
                    .setName("b")
                    .setReplicas(5)
                    .setFillMode("spread")
                    .setFillFactor(2)
                    .build());
    assertThat(told.getEffectiveReplicas()).isEqualTo(2);
    assertThat(told.getFillQuantum()).as("2 batches of 4").isEqualTo(8);
    assertThat(told.getWarningsList()).contains("5 replicas are wanted and 2 workers are ready");
    var unused = gateway.scheduling().repack(RepackRequest.newBuilder().setWaitSeconds(60).build());
    assertThat(workers("b")).isEqualTo(2);
    assertThat(model("b").getFillMode()).isEqualTo("spread");
    assertThat(
            refusal(
                () ->
                    gateway
                        .scheduling()
                        .setModelPlacement(
                            SetModelPlacementRequest.newBuilder().setName("none").build())))
        .hasMessageStartingWith("NOT_FOUND: Request for unknown model: 'none'");
  }

  @Test
  void shouldChangeThePolicy() {
    long before = status().getPolicy().getGeneration();
    var applied =
        gateway
            .scheduling()
            .setSchedulingPolicy(
                SetSchedulingPolicyRequest.newBuilder()
                    .addUpdateMask("hysteresis")
                    .setPolicy(SchedulingPolicy.newBuilder().setHysteresis(0.5))
                    .build());
    assertThat(applied.getApplied().getHysteresis()).isEqualTo(0.5);
    assertThat(applied.getApplied().getGeneration()).isEqualTo(before + 1);
    assertThat(applied.getPersisted()).isFalse();
    assertThat(status().getPolicy()).isEqualTo(applied.getApplied());
    assertThat(
            refusal(
                () ->
                    gateway
                        .scheduling()
                        .setSchedulingPolicy(SetSchedulingPolicyRequest.getDefaultInstance())))
        .hasMessageStartingWith("INVALID_ARGUMENT: update_mask is empty");
  }

  private static GetSchedulingStatusResponse status() {
    return gateway
        .scheduling()
        .getSchedulingStatus(GetSchedulingStatusRequest.getDefaultInstance());
  }

  private static long repacked() {
    return status().getRepack().getRepackCount();
  }

  private static ModelSchedulingStatus model(String name) {
    return status().getModelsList().stream()
        .filter(model -> model.getName().equals(name))
        .findAny()
        .orElseThrow();
  }

  private static int workers(String model) {
    return model(model).getReplicasCount();
  }

  private static Map<String, List<String>> placed() {
    return status().getModelsList().stream()
        .collect(
            Collectors.toMap(
                ModelSchedulingStatus::getName,
                model ->
                    model.getReplicasList().stream().map(ReplicaPlacement::getWorker).toList()));
  }

  private static StatusRuntimeException refusal(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run);
  }
}
