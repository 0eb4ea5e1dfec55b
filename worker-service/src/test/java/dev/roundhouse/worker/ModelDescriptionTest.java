package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.kserve.proto.InferBatchStatistics;
import dev.roundhouse.kserve.proto.InferStatistics;
import dev.roundhouse.kserve.proto.MemoryUsage;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelDynamicBatching;
import dev.roundhouse.kserve.proto.ModelInstanceGroup;
import dev.roundhouse.kserve.proto.ModelQueuePolicy.TimeoutAction;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.StatisticDuration;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a worker says of its models over gRPC: how they are served, and what was counted. */
@Timeout(120)
class ModelDescriptionTest {
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doublingOne(2).write(repository, "alone");
    TestBundle.weighted(64).write(repository, "weighted");
    TestBundle.doubling(3, 1, 4)
        .serving(
            """
            weight: 2
            residency: pinned_device
            max_queue_delay: 3ms
            queue: {max_size: 9, default_timeout: 2s, timeout_action: delay, allow_timeout_override: false}
            priorities: {levels: 3, default: 2}
            """)
        .write(repository, "ruled");
    worker =
        new RunningWorker(
            repository,
            TestBundle.DOUBLE,
            "--roundhouse.worker.repository.version-policy=latest:2",
            "--roundhouse.worker.scheduler.max-queue-depth=100",
            "--roundhouse.worker.models.ruled.max-batch-size=3",
            "--roundhouse.worker.models.ruled.version-policy=7,1");
    worker.bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldDescribeAModelWhoseRequestsRunTogether() {
    ModelConfig config = config("double", "");

    assertThat(config.getName()).isEqualTo("double");
    assertThat(config.getPlatform()).isEqualTo("simulated");
    assertThat(config.getBackend()).isEqualTo("simulated");
    assertThat(config.getVersionPolicy().getLatest().getNumVersions()).isEqualTo(2);
    assertThat(config.getMaxBatchSize()).isEqualTo(4);
    assertThat(config.getInput(0).getName()).isEqualTo("x");
    assertThat(config.getInput(0).getDataType()).isEqualTo(DataType.TYPE_FP32);
    assertThat(config.getInput(0).getDimsList()).as("without the batch axis").containsExactly(2L);
    assertThat(config.getOutput(0).getName()).isEqualTo("y");
    assertThat(config.getOutput(0).getDimsList()).containsExactly(2L);
    ModelDynamicBatching batching = config.getDynamicBatching();
    assertThat(batching.getPreferredBatchSizeList()).containsExactly(1, 4);
    assertThat(batching.getMaxQueueDelayMicroseconds()).isZero();
    assertThat(batching.getPriorityLevels()).isZero();
    assertThat(batching.getDefaultQueuePolicy().getMaxQueueSize()).isEqualTo(100);
    assertThat(batching.getDefaultQueuePolicy().getTimeoutAction()).isEqualTo(TimeoutAction.REJECT);
    assertThat(batching.getDefaultQueuePolicy().getAllowTimeoutOverride()).isTrue();
    assertThat(config.getInstanceGroupList())
        .containsExactly(
            ModelInstanceGroup.newBuilder()
                .setName("double_0")
                .setKind(ModelInstanceGroup.Kind.KIND_CPU)
                .setCount(1)
                .build());
    assertThat(config.getModelTransactionPolicy().getDecoupled()).isFalse();
    assertThat(config.getDefaultModelFilename()).as("there are two").isEmpty();
    assertThat(config.getModelWarmupList())
        .extracting(warmUp -> warmUp.getBatchSize() + "x" + warmUp.getCount())
        .containsExactly("1x3", "4x3");
    assertThat(config.getModelWarmup(1).getInputsOrThrow("x").getDimsList()).containsExactly(2L);
    assertThat(config.getModelWarmup(1).getInputsOrThrow("x").getZeroData()).isTrue();
    assertThat(config.getParametersOrThrow("weight").getStringValue()).isEqualTo("1.0");
    assertThat(config.getParametersMap()).doesNotContainKey("residency");
    assertThat(config("double", "1")).isEqualTo(config);
  }

  @Test
  void shouldDescribeAModelWhoseRequestsRunAlone() {
    ModelConfig config = config("alone", "");

    assertThat(config.getMaxBatchSize()).isZero();
    assertThat(config.getInput(0).getDimsList()).containsExactly(2L);
    assertThat(config.hasDynamicBatching()).isFalse();
    assertThat(config.getDefaultModelFilename()).isEqualTo("model.mlir");
    assertThat(repository.resolve("alone").resolve(config.getDefaultModelFilename())).exists();
    assertThat(config.getModelWarmup(0).getInputsOrThrow("x").getDimsList()).containsExactly(2L);
    assertThat(config("weighted", "").getDefaultModelFilename()).isEqualTo("model.b1.mlir");
  }

  @Test
  void shouldDescribeWhatManifestAndOperatorWant() {
    ModelConfig config = config("ruled", "");

    assertThat(config.getVersionPolicy().getSpecific().getVersionsList()).containsExactly(1L, 7L);
    assertThat(config.getMaxBatchSize()).as("the operator's cap").isEqualTo(3);
    ModelDynamicBatching batching = config.getDynamicBatching();
    assertThat(batching.getPreferredBatchSizeList()).containsExactly(1, 3);
    assertThat(batching.getMaxQueueDelayMicroseconds()).isEqualTo(3_000);
    assertThat(batching.getPriorityLevels()).isEqualTo(3);
    assertThat(batching.getDefaultPriorityLevel()).isEqualTo(2);
    assertThat(batching.getDefaultQueuePolicy().getMaxQueueSize()).isEqualTo(9);
    assertThat(batching.getDefaultQueuePolicy().getTimeoutAction()).isEqualTo(TimeoutAction.DELAY);
    assertThat(batching.getDefaultQueuePolicy().getDefaultTimeoutMicroseconds())
        .isEqualTo(2_000_000);
    assertThat(batching.getDefaultQueuePolicy().getAllowTimeoutOverride()).isFalse();
    assertThat(config.getParametersOrThrow("weight").getStringValue()).isEqualTo("2.0");
    assertThat(config.getParametersOrThrow("residency").getStringValue())
        .isEqualTo("pinned-device");
  }

  @Test
  void shouldRefuseTheConfigurationOfAModelThatIsNotReady() {
    assertRefused(
        () -> config("nobody", ""),
        Status.Code.NOT_FOUND,
        "Request for unknown model: 'nobody' is not found");
    assertRefused(() -> config("double", "7"), Status.Code.NOT_FOUND, "version 7 is not found");
    assertRefused(
        () -> config("double", "x"),
        Status.Code.INVALID_ARGUMENT,
        "failed to get model version from specified version string");
  }

  @Test
  void shouldCountWhatIsAnsweredBeforeTheAnswerIsSeen() {
    long before = System.currentTimeMillis();
    ModelStatistics first = statistics("double", "").getFirst();
    for (int rows : List.of(1, 3, 3)) {
      infer("double", rows);
    }
    ModelStatistics then = statistics("double", "1").getFirst();

    assertThat(then.getName()).isEqualTo("double");
    assertThat(then.getVersion()).isEqualTo("1");
    assertThat(then.getInferenceCount() - first.getInferenceCount()).isEqualTo(7);
    assertThat(then.getExecutionCount() - first.getExecutionCount()).isEqualTo(3);
    assertThat(then.getLastInference()).isBetween(before - 1, System.currentTimeMillis() + 1);
    InferStatistics stats = then.getInferenceStats();
    long success = stats.getSuccess().getCount();
    assertThat(success - first.getInferenceStats().getSuccess().getCount()).isEqualTo(3);
    for (StatisticDuration each :
        List.of(
            stats.getQueue(),
            stats.getComputeInput(),
            stats.getComputeInfer(),
            stats.getComputeOutput())) {
      assertThat(each.getCount()).isEqualTo(success);
      assertThat(each.getNs()).isLessThanOrEqualTo(stats.getSuccess().getNs());
    }
    assertThat(stats.getFail()).isEqualTo(StatisticDuration.getDefaultInstance());
    assertThat(stats.getCacheHit()).isEqualTo(StatisticDuration.getDefaultInstance());
    assertThat(then.getBatchStatsList())
        .extracting(InferBatchStatistics::getBatchSize)
        .containsExactly(1L, 3L);
    for (InferBatchStatistics each : then.getBatchStatsList()) {
      assertThat(each.getComputeInput().getCount()).isEqualTo(each.getComputeInfer().getCount());
      assertThat(each.getComputeOutput().getCount()).isEqualTo(each.getComputeInfer().getCount());
    }
    assertThat(then.getResponseStatsMap()).isEmpty();
  }

  @Test
  void shouldNameEveryReadyModelWhenNoneIsAskedFor() {
    assertThat(statistics("", ""))
        .extracting(ModelStatistics::getName)
        .containsExactly("alone", "double", "ruled", "weighted");
    assertThat(statistics("", "7")).isEmpty();
    assertThat(statistics("weighted", "").getFirst().getMemoryUsageList())
        .containsExactly(MemoryUsage.newBuilder().setType("CPU").setByteSize(64).build());
    assertThat(statistics("double", "").getFirst().getMemoryUsageList()).isEmpty();
  }

  @Test
  void shouldRefuseStatisticsOfAModelThatIsNotReady() {
    assertRefused(
        () -> statistics("nobody", ""),
        Status.Code.INVALID_ARGUMENT,
        "requested model 'nobody' is not available");
    assertRefused(
        () -> statistics("double", "7"),
        Status.Code.INVALID_ARGUMENT,
        "requested model 'double' version 7 is not available");
    assertRefused(
        () -> statistics("double", "x"),
        Status.Code.INVALID_ARGUMENT,
        "failed to get model version from specified version string");
  }

  private static void assertRefused(ThrowingCallable call, Status.Code code, String text) {
    StatusRuntimeException refusal = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.getStatus().getCode()).as(text).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(text);
  }

  private static ModelConfig config(String name, String version) {
    var request = ModelConfigRequest.newBuilder().setName(name).setVersion(version).build();
    return worker.stub().modelConfig(request).getConfig();
  }

  private static List<ModelStatistics> statistics(String name, String version) {
    var request = ModelStatisticsRequest.newBuilder().setName(name).setVersion(version).build();
    return worker.stub().modelStatistics(request).getModelStatsList();
  }

  private static void infer(String model, int rows) {
    float[] values = new float[rows * 2];
    IntStream.range(0, values.length).forEach(i -> values[i] = i);
    worker
        .stub()
        .withDeadlineAfter(30, TimeUnit.SECONDS)
        .modelInfer(WorkerTest.request(model, rows, values));
  }
}
