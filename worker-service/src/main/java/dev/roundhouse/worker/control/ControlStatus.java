package dev.roundhouse.worker.control;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.hostweights.HostWeightsKind;
import dev.roundhouse.engine.hostweights.HostWeightsReport;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.kserve.codec.GatewayProtocol;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.control.proto.Residency;
import dev.roundhouse.worker.config.ResidencyProperties;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What ModelControlStatus answers: a line for each ready model. */
final class ControlStatus {
  private static final String INSTANCE = UUID.randomUUID().toString();

  private ControlStatus() {}

  static ModelControlStatusResponse of(
      Engine engine, ResidencyProperties.Mode mode, SchedulerReport scheduler, int streamPort) {
    var weights = scheduler.dispatch().weights();
    long pool = weights.poolBytes();
    ModelControlStatusResponse.Builder response =
        ModelControlStatusResponse.newBuilder()
            .setResidencyMode(mode.name().toLowerCase(Locale.ROOT))
            .setDiscipline(scheduler.dispatch().discipline())
            .setInstance(INSTANCE)
            .setStreamPort(streamPort)
            .setGatewayProtocolOldest(GatewayProtocol.OLDEST)
            .setGatewayProtocolLatest(GatewayProtocol.LATEST)
            .setWeightCacheMaxBytes(
                pool == Long.MAX_VALUE ? 0 : Math.max(0, pool - weights.pinnedBytes()));
    Map<String, LaneState> lanes = new HashMap<>();
    scheduler
        .dispatch()
        .models()
        .forEach(lane -> lanes.put(key(lane.model(), lane.version()), lane));
    List<ModelReport> ready =
        engine.reports().details().stream().filter(report -> report.status().isReady()).toList();
    Map<String, ModelStatus> own = new HashMap<>();
    for (ModelReport report : ready) {
      LaneState lane = lanes.get(key(report.status().name(), report.status().version()));
      if (lane != null) {
        own.put(report.status().name(), line(report, lane));
      }
    }
    for (ModelReport report : ready) {
      ModelStatus line = own.get(report.status().name());
      if (line != null) {
        response.addModels(line);
      } else if (report
          .status()
          .spec()
          .filter(spec -> spec.kind() != ModelSpec.Kind.MODEL)
          .isPresent()) {
        response.addModels(composed(report, engine.needs(report.status().name()), own));
      }
    }
    return response.build();
  }

  private static String key(String model, String version) {
    return model + "\n" + version;
  }

  private static ModelStatus line(ModelReport report, LaneState lane) {
    return counted(report)
        .setResidency(residency(report, lane))
        .setDeviceResident(lane.weights().place() == Place.RESIDENT)
        .setHostResident(report.onHost().stream().anyMatch(HostWeightsReport::inMemory))
        .setWeightNbytes(report.weightBytes())
        .setWeight(lane.weight())
        .setQueueDepth(lane.queued())
        .build();
  }

  /** Of a model as it was; a word for it. */
  static String residency(Optional<ModelReport> report, CompletableFuture<SchedulerReport> asked) {
    if (report.isEmpty() || !asked.isDone() || asked.isCompletedExceptionally()) {
      return "unknown";
    }
    return asked.join().dispatch().models().stream()
        .filter(lane -> lane.model().equals(report.get().status().name()))
        .findFirst()
        .map(lane -> residency(report.get(), lane).toString())
        .orElse("unknown");
  }

  private static Residency residency(ModelReport report, LaneState lane) {
    if (lane.weights().pinned()) {
      return Residency.PINNED_DEVICE;
    }
    boolean kept =
        report.onHost().stream().anyMatch(weights -> weights.kind() == HostWeightsKind.KEPT);
    return kept ? Residency.PINNED_SYSTEM : Residency.UNPINNED;
  }

  /**
   * Of a model without weights, which stands for all that it calls.
   *
   * @param own lines of models with weights; one that has just come or gone has none
   */
  private static ModelStatus composed(
      ModelReport report, List<String> needs, Map<String, ModelStatus> own) {
    List<ModelStatus> called =
        needs.stream().flatMap(name -> Stream.ofNullable(own.get(name))).toList();
    boolean isComplete = called.size() == needs.size();
    return counted(report)
        .setResidency(
            called.stream()
                .map(ModelStatus::getResidency)
                .min(Comparator.comparing(Residency::getNumber))
                .orElse(Residency.UNPINNED))
        .setDeviceResident(isComplete && called.stream().allMatch(ModelStatus::getDeviceResident))
        .setHostResident(isComplete && called.stream().allMatch(ModelStatus::getHostResident))
        .setWeightNbytes(called.stream().mapToLong(ModelStatus::getWeightNbytes).sum())
        .build();
  }

  private static ModelStatus.Builder counted(ModelReport report) {
    ModelStatus.Builder line =
        ModelStatus.newBuilder()
            .setName(report.status().name())
            .setTotalComputeSeconds(count(report, Metric.COMPUTE) / 1e9)
            .setRequestsServed(count(report, Metric.COMPLETED))
            .setDispatchCount(count(report, Metric.EXECUTIONS))
            .setRowsServed(count(report, Metric.ROWS))
            .setMaxBatchSize(report.status().maxBatchSize());
    TensorSpec batched = firstBatched(report.status().spec().orElse(null));
    if (batched != null) {
      line.setBatchInputName(batched.name()).setBatchAxis(batched.batchAxis() + 1L);
    }
    return line;
  }

  private static @Nullable TensorSpec firstBatched(@Nullable ModelSpec spec) {
    return spec == null
        ? null
        : spec.clientInputs().stream().filter(TensorSpec::isBatched).findFirst().orElse(null);
  }

  private static long count(ModelReport report, Metric metric) {
    return report.counts().getOrDefault(metric, 0L);
  }
}
