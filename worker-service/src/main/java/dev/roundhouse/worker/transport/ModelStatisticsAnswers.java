package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.VersionStatistics;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.kserve.codec.ModelVersion;
import dev.roundhouse.kserve.proto.InferStatistics;
import dev.roundhouse.kserve.proto.MemoryUsage;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.StatisticDuration;
import dev.roundhouse.kserve.status.WireException;
import java.util.List;

/**
 * Says in Triton's form what has been counted for the versions that are ready, since each was
 * loaded. The counts of one version's answered requests belong together. Thread-safe; takes time in
 * proportion to the number of models that are asked for.
 */
public final class ModelStatisticsAnswers {
  private final Engine engine;
  private final DeviceDescription device;

  /**
   * @param device that has the weights
   */
  public ModelStatisticsAnswers(Engine engine, DeviceDescription device) {
    this.engine = engine;
    this.device = device;
  }

  /**
   * What has been counted.
   *
   * @param name empty for every model
   * @param version empty for every version
   * @throws WireException INVALID_ARGUMENT when a name is given of which no such version is ready
   */
  public ModelStatisticsResponse of(String name, String version) {
    List<VersionStatistics> counted =
        engine.reports().statistics(name, ModelVersion.parse(version));
    if (counted.isEmpty() && !name.isEmpty()) {
      throw WireException.invalidArgument(
          "requested model '%s'%s is not available; it is unknown or not ready"
              .formatted(name, version.isEmpty() ? "" : " version " + version));
    }
    ModelStatisticsResponse.Builder answer = ModelStatisticsResponse.newBuilder();
    counted.forEach(each -> answer.addModelStats(model(each)));
    return answer.build();
  }

  private ModelStatistics model(VersionStatistics counted) {
    InferenceReading answered = counted.answered();
    ModelStatistics.Builder model =
        ModelStatistics.newBuilder()
            .setName(counted.name())
            .setVersion(counted.version())
            .setLastInference(counted.lastRunMillis())
            .setInferenceCount(answered.rows())
            .setExecutionCount(answered.executions())
            .setInferenceStats(requests(counted));
    answered
        .runs()
        .forEach(
            (rows, runs) ->
                model
                    .addBatchStatsBuilder()
                    .setBatchSize(rows)
                    .setComputeInput(duration(runs.count(), runs.inputNanos()))
                    .setComputeInfer(duration(runs.count(), runs.computeNanos()))
                    .setComputeOutput(duration(runs.count(), runs.outputNanos())));
    if (counted.deviceBytes() > 0) {
      boolean gpu = device.platform().equals("cuda");
      model.addMemoryUsage(
          MemoryUsage.newBuilder()
              .setType(gpu ? "GPU" : "CPU")
              .setId(gpu ? device.ordinal() : 0)
              .setByteSize(counted.deviceBytes()));
    }
    return model.build();
  }

  private static InferStatistics requests(VersionStatistics counted) {
    InferenceReading answered = counted.answered();
    long count = answered.requests();
    return InferStatistics.newBuilder()
        .setSuccess(duration(count, answered.answerNanos()))
        .setFail(duration(counted.failed(), counted.failedNanos()))
        .setQueue(duration(count, answered.queueNanos()))
        .setComputeInput(duration(count, answered.inputNanos()))
        .setComputeInfer(duration(count, answered.computeNanos()))
        .setComputeOutput(duration(count, answered.outputNanos()))
        .setCacheHit(StatisticDuration.getDefaultInstance())
        .setCacheMiss(StatisticDuration.getDefaultInstance())
        .build();
  }

  private static StatisticDuration duration(long count, long nanos) {
    return StatisticDuration.newBuilder().setCount(count).setNs(nanos).build();
  }
}
