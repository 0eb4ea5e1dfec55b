package dev.roundhouse.gateway.schedule;

import dev.roundhouse.gateway.route.FillMode;
import org.jspecify.annotations.Nullable;

/**
 * What an operator wants of one model.
 *
 * @param replicas from 1; -1 for all workers, 0 for the default
 * @param fillMode null for that of the policy
 * @param fillFactor 0 for that of the policy
 */
public record ModelPolicy(int replicas, @Nullable FillMode fillMode, double fillFactor) {
  static final ModelPolicy NONE = new ModelPolicy(0, null, 0);
}
