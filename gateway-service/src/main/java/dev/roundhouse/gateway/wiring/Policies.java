package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.ModelProperties;
import dev.roundhouse.gateway.config.SchedulingProperties;
import dev.roundhouse.gateway.placement.ModelDemand;
import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.schedule.ModelPolicy;
import dev.roundhouse.gateway.schedule.Policy;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** What operators want of scheduling, from the settings. */
final class Policies {
  private Policies() {}

  static Policy of(SchedulingProperties settings) {
    return new Policy(
        settings.rebalanceComputeSeconds(),
        settings.firstRebalanceComputeSeconds(),
        settings.hysteresis(),
        settings.emaHalflifeComputeSeconds(),
        replicas(settings.defaultReplicas()),
        settings.routingPolicy(),
        settings.routingFillFactor(),
        settings.routingFillMode(),
        settings.compactionMode(),
        settings.compactionInterval(),
        settings.forbidMemoryOversubscription(),
        settings.workBasis());
  }

  static Map<String, ModelPolicy> models(SchedulingProperties settings) {
    Map<String, ModelPolicy> models = new HashMap<>();
    settings.models().forEach((name, model) -> models.put(name, model(model)));
    return models;
  }

  private static ModelPolicy model(ModelProperties model) {
    boolean inherits = model.fillMode().isEmpty() || model.fillMode().equals("inherit");
    return new ModelPolicy(
        model.replicas().isEmpty() ? 0 : replicas(model.replicas()),
        inherits ? null : FillMode.valueOf(model.fillMode().toUpperCase(Locale.ROOT)),
        model.fillFactor());
  }

  private static int replicas(String text) {
    return text.equals("all") ? ModelDemand.EVERYWHERE : Integer.parseInt(text);
  }
}
