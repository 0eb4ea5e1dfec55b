package dev.roundhouse.hooks;

/**
 * Code of a bundle of kind {@code model} between callers and its programs. The server makes one
 * object for each version that it loads, by the constructor without arguments; its methods but
 * {@link #open} and {@link #close} are called by many threads at once. Each call has a time limit,
 * after which its thread is interrupted and the request ends with DEADLINE_EXCEEDED.
 */
public interface ModelHooks extends AutoCloseable {

  /** Called once, before any request. What it throws keeps the model from being loaded. */
  default void open(ModelContext model) throws Exception {}

  /**
   * Makes the programs' inputs of what the caller sent.
   *
   * @return every input of the programs, by name, dtype and shape
   * @throws HookException to refuse the request; anything else is INTERNAL
   */
  default Tensors preprocess(HookRequest request) throws Exception {
    return request.inputs();
  }

  /**
   * Makes the answer of what the programs returned.
   *
   * @param outputs of the programs, in their order; read-only
   * @return the outputs that the caller asks for, and others if need be; of a decoupled model the
   *     last part of the answer, or no tensors when that has gone out by {@link HookRequest#answer}
   * @throws HookException to refuse the request; anything else is INTERNAL
   */
  default Tensors postprocess(HookRequest request, Tensors outputs) throws Exception {
    return outputs;
  }

  /** Called once, when the last request has ended. End here what {@link #open} began. */
  @Override
  default void close() {}
}
