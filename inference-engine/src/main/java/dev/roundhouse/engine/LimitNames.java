package dev.roundhouse.engine;

/**
 * What the application calls the limits that a refusal tells people to raise: where they set them.
 *
 * @param maxQueueDepth as in {@link EngineOptions}
 * @param maxQueuedBytes as in {@link EngineOptions}
 */
public record LimitNames(String maxQueueDepth, String maxQueuedBytes) {

  /** For a program that sets the options themselves. */
  public static final LimitNames OPTIONS =
      new LimitNames("EngineOptions.maxQueueDepth", "EngineOptions.maxQueuedBytes");
}
