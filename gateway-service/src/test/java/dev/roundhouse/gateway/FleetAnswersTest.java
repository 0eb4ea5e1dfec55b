package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelEnsembling;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import io.grpc.Status;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the gateway answers for all of its workers, and what it refuses itself. */
class FleetAnswersTest extends TwoWorkers {
  @Test
  void shouldSayWhatAllHaveInCommon() {
    assertThat(gateway.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
        .isTrue();
    assertThat(
            gateway
                .stub()
                .serverMetadata(ServerMetadataRequest.getDefaultInstance())
                .getExtensionsList())
        .containsExactly("all");
    IsSameIPCNamespaceRequest same = IsSameIPCNamespaceRequest.getDefaultInstance();
    assertThat(gateway.stub().isSameIPCNamespace(same).getSame()).isTrue();
    w1.sameNamespace = false;
    assertThat(gateway.stub().isSameIPCNamespace(same).getSame()).isFalse();
  }

  @Test
  void shouldSayWhatOneOfThemHas() {
    for (String model : List.of("both", "left", "right")) {
      ModelReadyRequest request = ModelReadyRequest.newBuilder().setName(model).build();
      assertThat(gateway.stub().modelReady(request).getReady()).isTrue();
    }
    w0.models.put("both", "UNAVAILABLE");
    assertThat(index())
        .extracting(line -> line.getName() + " " + line.getState())
        .containsExactly("both READY", "left READY", "right READY");
    w1.models.put("both", "LOADING");
    assertThat(index().getFirst().getState()).isEqualTo("LOADING");
  }

  private List<ModelIndex> index() {
    return gateway
        .stub()
        .repositoryIndex(RepositoryIndexRequest.getDefaultInstance())
        .getModelsList();
  }

  /** One of whose steps is missing at a worker, which therefore does not serve it. */
  @Test
  void shouldSendEnsemblesWhereAllStepsServe() throws Exception {
    ModelConfig ensemble =
        ModelConfig.newBuilder()
            .setName("both")
            .setPlatform("ensemble")
            .setMaxBatchSize(4)
            .setEnsembleScheduling(
                ModelEnsembling.newBuilder()
                    .addStep(
                        ModelEnsembling.Step.newBuilder()
                            .setModelName("right")
                            .setModelVersion(-1)
                            .putInputMap("x", "IN")
                            .putOutputMap("y", "OUT")))
            .build();
    w1.configs.put("both", ensemble);
    w0.models.put("both", "UNAVAILABLE");
    Workers workers = gateway.bean(Workers.class);
    RunningGateway.await(
        "the gateway knows",
        () ->
            workers.all().stream()
                .anyMatch(look -> Boolean.FALSE.equals(look.models().get("both"))));
    w0.calls.clear();
    ModelConfigRequest asked = ModelConfigRequest.newBuilder().setName("both").build();
    assertThat(gateway.stub().modelConfig(asked).getConfig()).isEqualTo(ensemble);
    for (int i = 0; i < 10; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
      assertThat(gateway.send("POST", "/v2/models/both/infer", "{\"inputs\":[]}").body())
          .startsWith("w1 ");
    }
    assertThat(w0.calls).isEmpty();
  }

  @Test
  void shouldAddUpWhatWorkersHaveCounted() {
    var all = gateway.stub().modelStatistics(ModelStatisticsRequest.getDefaultInstance());
    assertThat(all.getModelStatsList())
        .extracting(stats -> stats.getName() + " " + stats.getInferenceCount())
        .containsExactly("both 20", "left 10", "right 10");
    ModelStatisticsRequest none = ModelStatisticsRequest.newBuilder().setName("none").build();
    assertThat(refusal(() -> gateway.stub().modelStatistics(none)))
        .hasMessage("INVALID_ARGUMENT: no stats");
  }

  @Test
  void shouldLoadWithAllAndNameTheOneThatDidNot() {
    RepositoryModelLoadRequest load =
        RepositoryModelLoadRequest.newBuilder().setModelName("new").build();
    assertThat(gateway.stub().repositoryModelLoad(load).getIsLoaded()).isTrue();
    assertThat(w0.models).containsKey("new");
    assertThat(w1.models).containsKey("new");
    w1.failure = Status.RESOURCE_EXHAUSTED.withDescription("no memory");
    assertThat(refusal(() -> gateway.stub().repositoryModelLoad(load)))
        .hasMessage("RESOURCE_EXHAUSTED: worker 'w1' (of 2, 1 failed): no memory");
    w0.failure = w1.failure;
    assertThat(refusal(() -> gateway.stub().repositoryModelLoad(load)))
        .as("all say so")
        .hasMessage("RESOURCE_EXHAUSTED: no memory");
  }

  @Test
  void shouldTellAllOfASetting() {
    var unused = gateway.stub().logSettings(LogSettingsRequest.getDefaultInstance());
    assertThat(w0.calls).containsExactly("logSettings");
    assertThat(w1.calls).containsExactly("logSettings");
  }

  @Test
  void shouldSteerTheWorkersThatHaveTheModel() {
    w0.add("both", 2);
    w1.add("both", 3);
    var status =
        gateway.control().modelControlStatus(ModelControlStatusRequest.getDefaultInstance());
    assertThat(status.getModelsList())
        .filteredOn(model -> model.getName().equals("both"))
        .singleElement()
        .satisfies(model -> assertThat(model.getTotalComputeSeconds()).isEqualTo(5));
    var unused =
        gateway
            .control()
            .setModelPolicy(SetModelPolicyRequest.newBuilder().setName("right").build());
    assertThat(w0.calls).isEmpty();
    assertThat(w1.calls).containsExactly("policy right");
    var compacted =
        gateway
            .control()
            .compactMemory(
                CompactMemoryRequest.newBuilder()
                    .addReloadModels("both")
                    .addReloadModels("left")
                    .build());
    assertThat(compacted.getReloadedModels()).isEqualTo(3);
    assertThat(compacted.getResidentBytesAfter()).isEqualTo(200);
    assertThat(w1.calls).contains("compact [both]");
  }

  // --- what is no request

  @ParameterizedTest
  @ValueSource(
      strings = {
        "inference.GRPCInferenceService/RepositoryIndex",
        "reactant_control.ControlService/ModelControlStatus",
        "reactant_control.GatewayControlService/GetSchedulingStatus",
        "grpc.health.v1.Health/Check"
      })
  void shouldHoldControlMessagesToLimits(String method) throws Exception {
    Status bad = gateway.refusal(method, new byte[] {0x0a, 5, 'a'});
    assertThat(bad.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(bad.getDescription()).startsWith("the bytes are not a request of " + method + ": ");
    byte[] large = new byte[2 << 20];
    Arrays.fill(large, (byte) (15 << 3)); // field 15 is 120, again and again
    Status tooLarge = gateway.refusal(method, large);
    assertThat(tooLarge.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(tooLarge.getDescription())
        .isEqualTo("the request has 2097152 bytes, the limit is 1048576");
  }
}
