package dev.roundhouse.hooks;

import java.util.concurrent.CompletionStage;

/**
 * Calls the models that a meta names in its manifest. They have the request's deadline, and end
 * when it is cancelled. Answers are readable until the request has ended.
 */
public interface Calls {

  /**
   * Calls a model and waits for its answer.
   *
   * @param outputs those wanted; all when none is named
   * @throws IllegalArgumentException when the manifest does not name the model
   */
  Tensors call(String model, Tensors inputs, String... outputs);

  /** As {@link #call}, without waiting. */
  CompletionStage<Tensors> callAsync(String model, Tensors inputs, String... outputs);
}
