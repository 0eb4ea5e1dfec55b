package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceBlockingStub;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.control.proto.Residency;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Five models of a megabyte each, of which three fit on the device, as the operator steers them.
 */
@Timeout(120)
class ResidencyControlTest {
  private static final int MODELS = 5;
  private static final int BYTES = 1 << 20;
  private static final String[] THREE_FIT = {
    "--roundhouse.worker.device.cpu.weights=copy",
    "--roundhouse.worker.residency.device-memory=3200KB",
    "--roundhouse.worker.residency.wiggle=0"
  };

  @TempDir Path repository;

  @Test
  void shouldServeMoreModelsThanFitAndTellWhereTheyAre() throws Exception {
    try (RunningWorker worker = worker(THREE_FIT)) {
      for (int i = 0; i < 20; i++) {
        worker.stub().modelInfer(WorkerTest.request("m" + i % MODELS, 1, 1, 2));
      }
      JsonNode residency = residency(worker);
      assertThat(residency.at("/mode").asString()).isEqualTo("self-managed");
      assertThat(residency.at("/device/residentBytes").asLong()).isEqualTo(3L * BYTES);
      assertThat(residency.at("/device/weightBudgetBytes").asLong())
          .isBetween(3_270_000L, 3_276_800L);
      assertThat(residency.at("/totals/resident").asInt()).isEqualTo(3);
      assertThat(residency.at("/totals/loads").asLong()).isGreaterThan(MODELS);
      JsonNode last = residency.at("/models/4");
      assertThat(last.at("/name").asString()).isEqualTo("m4");
      assertThat(last.at("/state").asString()).isEqualTo("resident");
      assertThat(last.at("/weightBytes").asLong()).isEqualTo(BYTES);
      assertThat(last.at("/sinceUsedSeconds").asDouble()).isBetween(0.0, 60.0);
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_weights_loads_total{model=\"m0\"}")
          .contains("roundhouse_weights_load_seconds_total{model=\"m0\"}");
    }
  }

  @Test
  void shouldKeepOnTheDeviceWhatIsPinned() throws Exception {
    try (RunningWorker worker = worker(THREE_FIT)) {
      var control = control(worker);
      assertThat(control.setModelResidency(set("m0", Residency.PINNED_DEVICE)).getResidency())
          .isEqualTo(Residency.PINNED_DEVICE);
      assertThat(worker.post("/actuator/residency/m1", "{\"pinned\": true}")).startsWith("200 ");
      for (int i = 0; i < 40; i++) {
        worker.stub().modelInfer(WorkerTest.request("m" + (2 + i % 3), 1, 1, 2));
      }
      ModelStatus status = control.modelControlStatus(anything()).getModels(0);
      assertThat(status.getName()).isEqualTo("m0");
      assertThat(status.getResidency()).isEqualTo(Residency.PINNED_DEVICE);
      assertThat(status.getDeviceResident()).isTrue();
      assertThat(status.getWeightNbytes()).isEqualTo(BYTES);
      assertThat(status.getBatchInputName()).isEqualTo("x");
      assertThat(status.getBatchAxis()).isEqualTo(1);
      assertThat(control.modelControlStatus(anything()).getWeightCacheMaxBytes())
          .isBetween((long) BYTES, 2L * BYTES);
      control.setModelResidency(set("m2", Residency.PINNED_DEVICE));
      refused(
          () -> control.setModelResidency(set("m3", Residency.PINNED_DEVICE)),
          Code.RESOURCE_EXHAUSTED,
          "pinning its 1048576 bytes of weights takes more than is left: 3145728 of");
      assertThat(worker.post("/actuator/residency/m3", "{\"pinned\": true}")).startsWith("409 ");
      control.setModelResidency(set("m0", Residency.PINNED_SYSTEM));
      worker.stub().modelInfer(WorkerTest.request("m4", 1, 1, 2));
      assertThat(residency(worker).at("/models/0/state").asString()).isEqualTo("absent");
      assertThat(residency(worker).at("/models/1/pinned").asBoolean()).isTrue();
    }
  }

  @Test
  void shouldCompactAndBringBackWhatIsNamed() throws Exception {
    try (RunningWorker worker = worker(THREE_FIT)) {
      var compacted = control(worker).compactMemory(reload("m0"));
      assertThat(compacted.getReloadedModels()).isEqualTo(1);
      assertThat(compacted.getResidentBytesAfter()).isEqualTo(BYTES);
      control(worker).setModelResidency(set("m0", Residency.PINNED_DEVICE));
      assertThat(control(worker).compactMemory(reload("m0")).getReloadedModels())
          .as("it never left")
          .isZero();
    }
  }

  @Test
  void shouldTreatWhatCallsOthersAsOneWithThem() throws Exception {
    TestBundle.ensemble(
            """
            inputs: [{name: x, dtype: f32, shape: [n, 2]}]
            outputs: [{name: y, dtype: f32, shape: [n, 2]}]
            steps:
              - {model: m0, inputs: {x: x}, outputs: {y: t}}
              - {model: m1, inputs: {x: t}, outputs: {y: y}}
            """)
        .write(repository, "both");
    try (RunningWorker worker = worker(THREE_FIT)) {
      var control = control(worker);
      control.compactMemory(reload());
      assertThat(status(worker).getDeviceResident()).isFalse();
      assertThat(control.compactMemory(reload("both")).getReloadedModels()).isEqualTo(2);
      control.setModelResidency(set("both", Residency.PINNED_DEVICE));
      ModelStatus status = status(worker);
      assertThat(status.getDeviceResident()).isTrue();
      assertThat(status.getResidency()).isEqualTo(Residency.PINNED_DEVICE);
      assertThat(status.getWeightNbytes()).isEqualTo(2L * BYTES);
      assertThat(worker.post("/actuator/residency/both", "{\"pinned\": false}")).startsWith("200 ");
      assertThat(status(worker).getResidency()).isEqualTo(Residency.PINNED_SYSTEM);
      refused(
          () ->
              control.setModelPolicy(
                  SetModelPolicyRequest.newBuilder()
                      .setName("both")
                      .setHasWeight(true)
                      .setWeight(3)
                      .build()),
          Code.FAILED_PRECONDITION,
          "model 'both' waits in no queue and has no weight");
    }
  }

  private static ModelStatus status(RunningWorker worker) {
    return control(worker).modelControlStatus(anything()).getModelsList().stream()
        .filter(line -> line.getName().equals("both"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void shouldLeaveTheDeviceToAnOperatorWhoManagesIt() throws Exception {
    String[] external = List.of(THREE_FIT).toArray(new String[THREE_FIT.length + 1]);
    external[THREE_FIT.length] = "--roundhouse.worker.residency.mode=externally-managed";
    try (RunningWorker worker = worker(external)) {
      var control = control(worker);
      assertThat(control.modelControlStatus(anything()).getResidencyMode())
          .isEqualTo("externally_managed");
      refused(
          () -> worker.stub().modelInfer(WorkerTest.request("m0", 1, 1, 2)),
          Code.FAILED_PRECONDITION,
          "model 'm0' is not on the device");
      assertThat(index(worker, true)).isEmpty();
      assertThat(index(worker, false))
          .hasSize(MODELS)
          .contains(
              "m0 UNAVAILABLE not on the device; SetModelResidency with PINNED_DEVICE brings it");
      control.setModelResidency(set("m0", Residency.PINNED_DEVICE));
      worker.stub().modelInfer(WorkerTest.request("m0", 1, 1, 2));
      assertThat(index(worker, true)).containsExactly("m0 READY ");
      refused(
          () -> control.compactMemory(reload("m1")),
          Code.FAILED_PRECONDITION,
          "reload_models names 1 models, and this server brings only what SetModelResidency");
      assertThat(control.compactMemory(reload()).getResidentBytesAfter()).isEqualTo(BYTES);
    }
  }

  @Test
  void shouldRefuseWhatIsAskedOfNobodyOrIsNoAnswer() throws Exception {
    try (RunningWorker worker = worker(THREE_FIT)) {
      var control = control(worker);
      refused(
          () -> control.setModelResidency(set("nobody", Residency.PINNED_DEVICE)),
          Code.NOT_FOUND,
          "'nobody'");
      refused(
          () -> control.setModelResidency(set("m0", Residency.RESIDENCY_UNSPECIFIED)),
          Code.INVALID_ARGUMENT,
          "target 0 of model 'm0' is no residency");
      refused(
          () ->
              control.setModelPolicy(
                  SetModelPolicyRequest.newBuilder()
                      .setName("m0")
                      .setHasWeight(true)
                      .setWeight(-1)
                      .build()),
          Code.INVALID_ARGUMENT,
          "weight -1.0 of model 'm0'");
      control.setModelPolicy(
          SetModelPolicyRequest.newBuilder().setName("m0").setHasWeight(true).setWeight(3).build());
      assertThat(control.modelControlStatus(anything()).getModels(0).getWeight()).isEqualTo(3);
    }
  }

  private RunningWorker worker(String... settings) throws Exception {
    for (int i = 0; i < MODELS; i++) {
      TestBundle.weighted(BYTES).write(repository, "m" + i);
    }
    return new RunningWorker(repository, TestBundle.DOUBLE, settings).awaitLoaded();
  }

  private static ControlServiceBlockingStub control(RunningWorker worker) {
    return ControlServiceGrpc.newBlockingStub(worker.channel());
  }

  private static CompactMemoryRequest reload(String... models) {
    return CompactMemoryRequest.newBuilder().addAllReloadModels(List.of(models)).build();
  }

  private static List<String> index(RunningWorker worker, boolean ready) {
    return worker
        .stub()
        .repositoryIndex(RepositoryIndexRequest.newBuilder().setReady(ready).build())
        .getModelsList()
        .stream()
        .map(line -> line.getName() + " " + line.getState() + " " + line.getReason())
        .toList();
  }

  private static SetModelResidencyRequest set(String name, Residency target) {
    return SetModelResidencyRequest.newBuilder().setName(name).setTarget(target).build();
  }

  private static ModelControlStatusRequest anything() {
    return ModelControlStatusRequest.getDefaultInstance();
  }

  private static JsonNode residency(RunningWorker worker) throws Exception {
    String answer = worker.get("metrics", "/actuator/residency");
    assertThat(answer).startsWith("200 ");
    return new JsonMapper().readTree(answer.substring(4));
  }

  private static void refused(Runnable call, Code code, String text) {
    StatusRuntimeException refusal = catchThrowableOfType(StatusRuntimeException.class, call::run);
    assertThat(refusal).isNotNull();
    assertThat(refusal.getStatus().getCode()).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(text);
  }
}
