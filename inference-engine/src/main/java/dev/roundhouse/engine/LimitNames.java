package dev.roundhouse.engine;

/**
 * Names of the limits in refusals, as the application's users set them.
 *
 * @param maxQueueDepth as in {@link EngineOptions}
 * @param maxQueuedBytes as in {@link EngineOptions}
 */
public record LimitNames(String maxQueueDepth, String maxQueuedBytes) {

  /** For a program that sets the options directly. */
  public static final LimitNames OPTIONS =
      new LimitNames("EngineOptions.maxQueueDepth", "EngineOptions.maxQueuedBytes");
}
