package dev.roundhouse.engine;

import java.util.function.BinaryOperator;

/**
 * Names of limits and options in refusals, as the application's users set them.
 *
 * @param maxQueueDepth as in {@link EngineOptions}
 * @param maxQueuedBytes as in {@link EngineOptions}
 * @param modelOption for a model and a component of {@link ModelOptions}, by their names
 */
public record LimitNames(
    String maxQueueDepth, String maxQueuedBytes, BinaryOperator<String> modelOption) {

  /** For a program that sets the options directly. */
  public static final LimitNames OPTIONS =
      new LimitNames(
          "EngineOptions.maxQueueDepth",
          "EngineOptions.maxQueuedBytes",
          "EngineOptions.models[%s].%s"::formatted);
}
