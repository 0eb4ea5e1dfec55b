package dev.roundhouse.gateway.calls;

import dev.roundhouse.kserve.proto.InferBatchStatistics;
import dev.roundhouse.kserve.proto.InferStatistics;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.StatisticDuration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Adds up what workers have counted for the same versions of the same models. */
final class Statistics {
  private Statistics() {}

  private record Version(String model, String version) implements Comparable<Version> {
    @Override
    public int compareTo(Version other) {
      int byModel = model.compareTo(other.model);
      return byModel != 0 ? byModel : version.compareTo(other.version);
    }
  }

  /** By name, then by version. */
  static ModelStatisticsResponse sum(List<ModelStatisticsResponse> answers) {
    Map<Version, ModelStatistics> sums = new TreeMap<>();
    for (ModelStatisticsResponse answer : answers) {
      for (ModelStatistics counted : answer.getModelStatsList()) {
        sums.merge(new Version(counted.getName(), counted.getVersion()), counted, Statistics::plus);
      }
    }
    return ModelStatisticsResponse.newBuilder().addAllModelStats(sums.values()).build();
  }

  private static ModelStatistics plus(ModelStatistics one, ModelStatistics other) {
    return one.toBuilder()
        .setLastInference(Math.max(one.getLastInference(), other.getLastInference()))
        .setInferenceCount(one.getInferenceCount() + other.getInferenceCount())
        .setExecutionCount(one.getExecutionCount() + other.getExecutionCount())
        .setInferenceStats(plus(one.getInferenceStats(), other.getInferenceStats()))
        .clearBatchStats()
        .addAllBatchStats(batches(one, other).values())
        .addAllMemoryUsage(other.getMemoryUsageList())
        .build();
  }

  private static Map<Long, InferBatchStatistics> batches(
      ModelStatistics one, ModelStatistics other) {
    Map<Long, InferBatchStatistics> batches = new TreeMap<>();
    for (ModelStatistics each : List.of(one, other)) {
      each.getBatchStatsList()
          .forEach(batch -> batches.merge(batch.getBatchSize(), batch, Statistics::plus));
    }
    return batches;
  }

  private static InferBatchStatistics plus(InferBatchStatistics one, InferBatchStatistics other) {
    return one.toBuilder()
        .setComputeInput(plus(one.getComputeInput(), other.getComputeInput()))
        .setComputeInfer(plus(one.getComputeInfer(), other.getComputeInfer()))
        .setComputeOutput(plus(one.getComputeOutput(), other.getComputeOutput()))
        .build();
  }

  private static InferStatistics plus(InferStatistics one, InferStatistics other) {
    return InferStatistics.newBuilder()
        .setSuccess(plus(one.getSuccess(), other.getSuccess()))
        .setFail(plus(one.getFail(), other.getFail()))
        .setQueue(plus(one.getQueue(), other.getQueue()))
        .setComputeInput(plus(one.getComputeInput(), other.getComputeInput()))
        .setComputeInfer(plus(one.getComputeInfer(), other.getComputeInfer()))
        .setComputeOutput(plus(one.getComputeOutput(), other.getComputeOutput()))
        .setCacheHit(plus(one.getCacheHit(), other.getCacheHit()))
        .setCacheMiss(plus(one.getCacheMiss(), other.getCacheMiss()))
        .build();
  }

  private static StatisticDuration plus(StatisticDuration one, StatisticDuration other) {
    return StatisticDuration.newBuilder()
        .setCount(one.getCount() + other.getCount())
        .setNs(one.getNs() + other.getNs())
        .build();
  }
}
