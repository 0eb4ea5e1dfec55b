package dev.roundhouse.hooks;

/**
 * Code of a bundle of kind {@code meta}, which answers by calling other models. As {@link
 * ModelHooks} in everything else, but that the time limit does not count while it waits for calls.
 */
public interface MetaModel extends AutoCloseable {

  /** Called once, before any request. What it throws keeps the model from being loaded. */
  default void open(ModelContext model) throws Exception {}

  /**
   * Answers a request.
   *
   * @param calls makes calls on its behalf
   * @return the outputs that the caller asks for, and others if need be
   * @throws HookException to refuse the request; anything else is INTERNAL
   */
  Tensors run(HookRequest request, Calls calls) throws Exception;

  /** Called once, when the last request has ended. */
  @Override
  default void close() {}
}
