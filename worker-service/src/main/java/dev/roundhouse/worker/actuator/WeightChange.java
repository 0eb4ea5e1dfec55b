package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.worker.config.ModelProperties;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Changes a model's weight while it serves, and keeps a record of it. Thread-safe. */
final class WeightChange {
  private static final double LEAST = Double.parseDouble(ModelProperties.LEAST_WEIGHT);
  private static final double MOST = Double.parseDouble(ModelProperties.MOST_WEIGHT);

  private final Engine engine;

  WeightChange(Engine engine) {
    this.engine = engine;
  }

  Result apply(String name, @Nullable Double weight) {
    ModelStatus model = engine.model(name).orElse(null);
    if (model == null) {
      return new Refused(404, "no model is named '" + name + "'; GET /actuator/models lists them");
    }
    if (weight == null || !(weight >= LEAST && weight <= MOST)) {
      return new Refused(
          400,
          "weight %s of model '%s' is not a number from %s to %s; send {\"weight\": 2.5}"
              .formatted(
                  weight == null ? "(none)" : weight,
                  name,
                  ModelProperties.LEAST_WEIGHT,
                  ModelProperties.MOST_WEIGHT));
    }
    if (!model.isReady()) {
      return new Refused(
          409,
          "model '%s' is %s and only a ready one has a weight to change; wait until it is, or set roundhouse.worker.models.%s.weight"
              .formatted(name, model.state(), name));
    }
    if (model.spec().filter(spec -> spec.kind() != ModelSpec.Kind.MODEL).isPresent()) {
      return new Refused(
          409,
          "model '%s' waits in no queue and has no weight: what it calls has; change those"
              .formatted(name));
    }
    Asked asked = ask(name, weight);
    if (!asked.taken()) {
      return new Refused(
          503,
          "model '%s' keeps its weight: the dispatch thread has no room; retry".formatted(name));
    }
    DispatchSnapshot snapshot = DispatchSnapshot.await(asked.before());
    LaneState lane = snapshot.lanes().get(name);
    Double before = lane == null ? null : lane.weight();
    Audit.changed(
        "weight of model '%s'".formatted(name),
        before == null ? "unknown (" + snapshot.unknownBecause() + ")" : before,
        weight);
    return new Changed(name, before, weight);
  }

  /** The dispatch thread takes both in this order, so it tells the weight right before. */
  private synchronized Asked ask(String name, double weight) {
    CompletableFuture<SchedulerReport> before = engine.reports().scheduler();
    return new Asked(before, engine.admin().setWeight(name, weight));
  }

  private record Asked(CompletableFuture<SchedulerReport> before, boolean taken) {}

  /** How it went. */
  sealed interface Result {
    int status();
  }

  /**
   * The weight is another from the model's next run on.
   *
   * @param before null when the dispatch thread did not say in time
   */
  @JsonInclude
  record Changed(String name, @Nullable Double before, double weight) implements Result {
    @Override
    public int status() {
      return 200;
    }
  }

  /**
   * Nothing happened.
   *
   * @param status of HTTP
   */
  record Refused(@JsonIgnore int status, String error) implements Result {}
}
