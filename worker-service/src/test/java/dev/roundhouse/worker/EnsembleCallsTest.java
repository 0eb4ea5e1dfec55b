package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelEnsembling;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** An ensemble as clients see it, over gRPC and HTTP: four times what they send, in two steps. */
@Timeout(120)
class EnsembleCallsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "first");
    TestBundle.doubling(2, 1, 4).write(repository, "second");
    TestBundle.ensemble(
            """
            inputs: [{name: x, dtype: f32, shape: [n, 2]}]
            outputs: [{name: y, dtype: f32, shape: [n, 2], labels: labels.txt}]
            batch_sizes: [1, 3]
            steps:
              - {model: second, inputs: {x: between}, outputs: {y: y}}
              - {model: first, inputs: {x: x}, outputs: {y: between}}
            """)
        .file("labels.txt", "left\nright\n".getBytes(StandardCharsets.UTF_8))
        .write(repository, "both");
    for (String name : List.of("weighed", "my.held")) {
      TestBundle.ensemble(
              """
              inputs: [{name: x, dtype: f32, shape: [n, 2]}]
              outputs: [{name: y, dtype: f32, shape: [n, 2]}]
              steps: [{model: first, inputs: {x: x}, outputs: {y: y}}]
              """)
          .write(repository, name);
    }
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.models.weighed.weight=2",
                "--roundhouse.worker.models.weighed.max-batch-size=8",
                "--roundhouse.worker.models[my.held].max-queue-delay=1ms")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker.assertHoldsNothing();
  }

  @Test
  void shouldDescribeItself() throws Exception {
    ModelConfig config =
        worker
            .stub()
            .modelConfig(ModelConfigRequest.newBuilder().setName("both").build())
            .getConfig();
    assertThat(config.getPlatform()).isEqualTo("ensemble");
    assertThat(config.getBackend()).isEmpty();
    assertThat(config.getMaxBatchSize()).isEqualTo(3);
    assertThat(config.getInput(0).getDimsList()).containsExactly(2L);
    assertThat(config.getOutput(0).getLabelFilename()).isEqualTo("labels.txt");
    assertThat(config.hasDynamicBatching()).isFalse();
    assertThat(config.getModelWarmupCount()).isZero();
    assertThat(config.getEnsembleScheduling())
        .isEqualTo(
            ModelEnsembling.newBuilder()
                .addStep(step("second", "between", "y"))
                .addStep(step("first", "x", "between"))
                .build());
    JsonNode overHttp = json(worker.get("http", "/v2/models/both/config"));
    assertThat(overHttp.get("ensemble_scheduling").get("step").get(1).get("model_name"))
        .hasToString("\"first\"");
    assertThat(worker.get("metrics", "/actuator/repository"))
        .contains(
            "{\"name\":\"second\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\",\"calledBy\":[\"both\"]}");

    var metadata =
        worker.stub().modelMetadata(ModelMetadataRequest.newBuilder().setName("both").build());
    assertThat(metadata.getPlatform()).isEqualTo("ensemble");
    assertThat(metadata.getInputs(0).getShapeList()).containsExactly(-1L, 2L);
    assertThat(json(worker.get("http", "/v2/models/both")).get("platform"))
        .hasToString("\"ensemble\"");
  }

  @Test
  void shouldRefuseSettingsThatItCannotHaveByTheirKeys() {
    var index = worker.stub().repositoryIndex(RepositoryIndexRequest.getDefaultInstance());
    assertThat(index.getModelsList())
        .filteredOn(model -> List.of("weighed", "my.held").contains(model.getName()))
        .extracting(model -> model.getReason().replaceFirst("^[^:]*: ", ""))
        .containsExactly(
            "roundhouse.worker.models[my.held].max-queue-delay is for models with programs, and this is of kind ensemble; remove it, or set it at those that this one calls: first",
            "roundhouse.worker.models.weighed.weight, roundhouse.worker.models.weighed.max-batch-size are for models with programs, and this is of kind ensemble; remove them, or set them at those that this one calls: first");
  }

  private static ModelEnsembling.Step step(String model, String input, String output) {
    return ModelEnsembling.Step.newBuilder()
        .setModelName(model)
        .setModelVersion(-1)
        .putInputMap("x", input)
        .putOutputMap("y", output)
        .build();
  }

  @Test
  void shouldAnswerAndCountItselfAndItsSteps() throws Exception {
    List<Long> before = counts();
    ModelInferResponse answer = worker.stub().modelInfer(WorkerTest.request("both", 2, 1, 2, 3, 4));
    assertThat(answer.getModelName()).isEqualTo("both");
    assertThat(answer.getOutputs(0).getName()).isEqualTo("y");
    assertThat(answer.getOutputs(0).getShapeList()).containsExactly(2L, 2L);
    assertThat(answer.getRawOutputContents(0)).isEqualTo(WorkerTest.floats(4, 8, 12, 16));

    JsonNode overHttp =
        json(
            post(
                "both",
                "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]"));
    assertThat(overHttp.get("outputs").get(0).get("data")).hasToString("[4.0,8.0]");
    JsonNode classes =
        json(
            post(
                "both",
                "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}]"));
    assertThat(classes.get("outputs").get(0).get("data")).hasToString("[\"8.000000:1:right\"]");

    assertThat(counts())
        .as("rows of the ensemble and of each step")
        .isEqualTo(before.stream().map(count -> count + 4).toList());
  }

  /** Rows that each of the three has answered. */
  private static List<Long> counts() {
    return Stream.of("both", "first", "second")
        .map(
            model ->
                worker
                    .stub()
                    .modelStatistics(ModelStatisticsRequest.newBuilder().setName(model).build())
                    .getModelStats(0))
        .map(ModelStatistics::getInferenceCount)
        .toList();
  }

  @Test
  void shouldRefuseMoreRowsThanItSays() throws Exception {
    ModelInferRequest many = WorkerTest.request("both", 4, 1, 2, 3, 4, 5, 6, 7, 8);
    assertThatExceptionOfType(StatusRuntimeException.class)
        .isThrownBy(() -> worker.stub().modelInfer(many))
        .satisfies(e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT))
        .withMessageContaining("batch-size must be <= 3 for 'both', got 4");
  }

  @Test
  void shouldServeAgainWhenAStepDoes() throws Exception {
    Engine engine = worker.bean(Engine.class);
    engine.admin().unload("first").join();
    assertThat(isReady()).isFalse();
    assertThatExceptionOfType(StatusRuntimeException.class)
        .isThrownBy(() -> worker.stub().modelInfer(WorkerTest.request("both", 1, 1, 2)))
        .satisfies(e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE))
        .withMessageContaining("'first', which was unloaded");
    engine.admin().load(repository.resolve("first")).join();
    assertThat(isReady()).isTrue();
    assertThat(
            worker.stub().modelInfer(WorkerTest.request("both", 1, 1, 2)).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(4, 8));
  }

  private static boolean isReady() {
    return worker
        .stub()
        .modelReady(ModelReadyRequest.newBuilder().setName("both").build())
        .getReady();
  }

  private static String post(String model, String body) throws Exception {
    HttpResponse<byte[]> answer =
        worker.send(
            worker
                .http("/v2/models/" + model + "/infer")
                .POST(BodyPublishers.ofString("{" + body + "}")));
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  private static JsonNode json(String answer) {
    assertThat(answer).startsWith("200 ");
    return JSON.readTree(answer.substring(4));
  }
}
