package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.worker.config.SchedulerProperties;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * {@code /actuator/models}: state, claim, queue, counts, cost and batches of each model; and its
 * weight.
 */
@Endpoint(id = "models")
public final class ModelsEndpoint {
  private final Engine engine;
  private final SchedulerProperties scheduler;
  private final WeightChange weightChange;

  public ModelsEndpoint(Engine engine, SchedulerProperties scheduler) {
    this.engine = engine;
    this.scheduler = scheduler;
    weightChange = new WeightChange(engine);
  }

  @ReadOperation
  public Models models() {
    DispatchSnapshot dispatch = DispatchSnapshot.withReasons(engine);
    return new Models(
        engine.reports().details().stream()
            .map(report -> ModelDetails.of(report, dispatch))
            .toList());
  }

  /** One model; 404 for an unknown name. */
  @ReadOperation
  public @Nullable ModelDetails model(@Selector String name) {
    if (engine.model(name).isEmpty()) {
      return null;
    }
    DispatchSnapshot dispatch = DispatchSnapshot.withReasons(engine);
    return engine
        .reports()
        .details(name)
        .map(report -> ModelDetails.of(report, dispatch, history(report, dispatch)))
        .orElse(null);
  }

  private ModelHistory history(ModelReport report, DispatchSnapshot dispatch) {
    String name = report.status().name();
    LaneState lane = dispatch.lanes().get(name);
    Double weight = lane == null ? null : lane.weight();
    InferenceReading answered =
        engine.reports().counters(name).map(ModelTotals::answered).orElse(InferenceReading.NOTHING);
    return ModelHistory.of(report, answered, dispatch, NotAnswered.of(report, weight, scheduler));
  }

  /** Changes a ready model's weight, from its next run on, until the worker stops. */
  @WriteOperation
  public WebEndpointResponse<Object> change(@Selector String name, @Nullable Double weight) {
    WeightChange.Result result = weightChange.apply(name, weight);
    return new WebEndpointResponse<>(result, result.status());
  }

  /** Every model, by name. */
  public record Models(List<ModelDetails> models) {}
}
