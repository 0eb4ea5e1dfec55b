package dev.roundhouse.engine.queue;

import dev.roundhouse.bundle.model.QueuePolicy;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.request.InferenceRequest;

/**
 * How a model's requests wait: its priority levels, how many may wait and for how long. Triton's
 * rules: a level of 0, or beyond those there are, is the default one; a caller's own timeout counts
 * when the model allows it and it is shorter than the model's.
 *
 * @param levels priority levels; 0 when the model has none
 * @param defaultLevel of requests that name none
 * @param maxSize requests that may wait; 0 for as many as the engine lets
 * @param defaultTimeoutNanos how long a request may wait to run; 0 for as long as it takes
 * @param delays true when a request that has waited too long is put behind the others, false when
 *     it is dropped
 * @param allowsTimeoutOverride true when a caller may ask for a shorter timeout
 */
public record QueueRules(
    int levels,
    int defaultLevel,
    int maxSize,
    long defaultTimeoutNanos,
    boolean delays,
    boolean allowsTimeoutOverride) {

  private static final QueueRules DEFAULT = of(ServingDefaults.DEFAULT);

  /** What a manifest asks for. */
  public static QueueRules of(ServingDefaults serving) {
    QueueRules rules =
        new QueueRules(
            serving.priorities().levels(),
            serving.priorities().defaultLevel(),
            serving.maxQueueSize().orElse(0),
            serving.queue().defaultTimeout().toNanos(),
            serving.queue().timeoutAction() == QueuePolicy.TimeoutAction.DELAY,
            serving.queue().allowTimeoutOverride());
    return rules.equals(DEFAULT) ? DEFAULT : rules;
  }

  /** The level of a request that asks for {@code priority}; 0 when the model has none. */
  public int level(long priority) {
    return priority > 0 && priority <= levels ? (int) priority : levels == 0 ? 0 : defaultLevel;
  }

  /** Until when a request that arrives now may wait. */
  public long leaveByNanos(long nowNanos, long askedNanos) {
    long timeout = defaultTimeoutNanos;
    if (allowsTimeoutOverride && askedNanos > 0 && (timeout == 0 || askedNanos < timeout)) {
      timeout = askedNanos;
    }
    long leaveBy = nowNanos + timeout;
    return timeout == 0 || leaveBy < nowNanos ? InferenceRequest.NO_DEADLINE : leaveBy;
  }

  /** Most requests that may wait. */
  public int depth(int enginesLimit) {
    return maxSize == 0 ? enginesLimit : Math.min(maxSize, enginesLimit);
  }

  /**
   * What holds {@link #depth}, as an operator writes it.
   *
   * @param enginesName of the engine's limit
   */
  public String depthSetting(int enginesLimit, String enginesName) {
    return maxSize == 0 || maxSize > enginesLimit
        ? enginesName
        : "serving.queue.max_size in the model's manifest";
  }
}
