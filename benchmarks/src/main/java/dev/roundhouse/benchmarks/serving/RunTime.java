package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.StatisticDuration;

/** How long the device took over a model's requests so far, as ModelStatistics has it. */
public record RunTime(long requests, long nanos) {

  public static RunTime of(ServerProcess server, String model) {
    ModelStatisticsRequest request = ModelStatisticsRequest.newBuilder().setName(model).build();
    StatisticDuration run =
        StockCall.to(server.grpcPort(), stub -> stub.modelStatistics(request))
            .getModelStats(0)
            .getInferenceStats()
            .getComputeInfer();
    return new RunTime(run.getCount(), run.getNs());
  }

  /** The mean, in microseconds, of the requests since then. */
  public double meanMicrosSince(RunTime before) {
    return (nanos - before.nanos) / 1e3 / (requests - before.requests);
  }
}
