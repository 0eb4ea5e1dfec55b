package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.dispatch.DispatchState.WeightsState;
import dev.roundhouse.engine.hostweights.HostWeightsReport;
import dev.roundhouse.engine.hostweights.HostWeightsTotals;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.worker.actuator.ResidencyDetails.Model;
import dev.roundhouse.worker.actuator.ResidencyDetails.OnHost;
import dev.roundhouse.worker.actuator.ResidencyDetails.Totals;
import dev.roundhouse.worker.config.ResidencyProperties;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * {@code /actuator/residency}: which models' weights are on the device; and whether a model's stay
 * there.
 */
@Endpoint(id = "residency")
public final class ResidencyEndpoint {
  private final Engine engine;
  private final ResidencyProperties properties;
  private final PinChange pinChange;

  public ResidencyEndpoint(Engine engine, ResidencyProperties properties) {
    this.engine = engine;
    this.properties = properties;
    pinChange = new PinChange(engine);
  }

  @ReadOperation
  public ResidencyDetails residency() {
    DispatchSnapshot dispatch = DispatchSnapshot.of(engine);
    List<ModelReport> ready =
        engine.reports().details().stream().filter(report -> report.onHost().isPresent()).toList();
    List<Model> models = ready.stream().map(report -> model(report, dispatch)).toList();
    return new ResidencyDetails(
        name(properties.mode()),
        name(properties.policy()),
        dispatch.unknownBecause(),
        device(dispatch.state()),
        host(engine.reports().hostWeights()),
        totals(models),
        models);
  }

  /** Keeps a model's weights on the device, or lets them leave; answers when that is so. */
  @WriteOperation
  public WebEndpointResponse<Map<String, Object>> change(
      @Selector String name, @Nullable Boolean pinned) {
    return pinChange.apply(name, pinned);
  }

  private static ResidencyDetails.@Nullable Device device(@Nullable DispatchState state) {
    if (state == null) {
      return null;
    }
    DispatchState.CacheState weights = state.weights();
    return new ResidencyDetails.Device(
        weights.poolBytes() == Long.MAX_VALUE ? null : weights.poolBytes(),
        weights.scratchBytes(),
        weights.residentBytes(),
        weights.pinnedBytes(),
        weights.loadingBytes());
  }

  private static ResidencyDetails.Host host(HostWeightsTotals weights) {
    return new ResidencyDetails.Host(
        weights.budgetBytes() == Long.MAX_VALUE ? null : weights.budgetBytes(),
        weights.heldBytes(),
        weights.sharedBytes(),
        weights.savedBytes(),
        weights.reads(),
        weights.readBytes(),
        weights.readNanos() / 1e9,
        weights.evictions());
  }

  private static OnHost onHost(HostWeightsReport weights) {
    return new OnHost(
        name(weights.kind()), weights.heldBytes(), weights.shared(), weights.pinned());
  }

  private static Model model(ModelReport report, DispatchSnapshot dispatch) {
    LaneState lane = dispatch.lanes().get(report.status().name());
    WeightsState weights = lane == null ? null : lane.weights();
    return new Model(
        report.status().name(),
        report.status().version(),
        weights == null ? null : name(weights.place()),
        weights == null ? null : weights.pinned(),
        report.weightBytes(),
        onHost(report.onHost().orElseThrow()),
        report.waiting(),
        weights == null || weights.sinceUsedNanos() < 0 ? null : weights.sinceUsedNanos() / 1e9,
        weights == null || Double.isInfinite(weights.nextUseNanos())
            ? null
            : weights.nextUseNanos() / 1e9,
        count(report, Metric.WEIGHT_LOADS),
        count(report, Metric.WEIGHT_EVICTIONS),
        count(report, Metric.WEIGHT_LOAD) / 1e9);
  }

  private static Totals totals(List<Model> models) {
    return new Totals(
        models.size(),
        (int) models.stream().filter(model -> name(Place.RESIDENT).equals(model.state())).count(),
        models.stream().mapToLong(Model::weightBytes).sum(),
        models.stream().mapToLong(Model::loads).sum(),
        models.stream().mapToLong(Model::evictions).sum(),
        models.stream().mapToDouble(Model::loadSeconds).sum());
  }

  private static long count(ModelReport report, Metric metric) {
    return report.counts().getOrDefault(metric, 0L);
  }

  private static String name(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
