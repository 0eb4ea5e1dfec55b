package dev.roundhouse.gateway.placement;

import java.util.Set;

/**
 * A model's demand for placement.
 *
 * @param utilization device seconds per second that it needs; 0 for an unused one
 * @param weightBytes on the device of each worker that serves it
 * @param replicas wanted number of workers; {@link #EVERYWHERE} for all
 * @param hosts workers that have it
 */
public record ModelDemand(
    String name, double utilization, long weightBytes, int replicas, Set<String> hosts) {
  public static final int EVERYWHERE = -1;

  public ModelDemand {
    if (!(utilization >= 0 && utilization < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "utilization of model '%s' is %s; it is 0 or more".formatted(name, utilization));
    }
    if (weightBytes < 0) {
      throw new IllegalArgumentException(
          "weights of model '%s' have %d bytes".formatted(name, weightBytes));
    }
    if (replicas < 1 && replicas != EVERYWHERE) {
      throw new IllegalArgumentException(
          "model '%s' is to have %d replicas; 1 or more, or -1 for all workers"
              .formatted(name, replicas));
    }
    hosts = Set.copyOf(hosts);
  }
}
