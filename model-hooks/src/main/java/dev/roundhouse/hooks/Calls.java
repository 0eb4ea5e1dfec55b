package dev.roundhouse.hooks;

import dev.roundhouse.bundle.tensor.DType;

/**
 * Calls the models that a meta names in its manifest. They have the request's deadline, and end
 * when it is cancelled. Answers are readable until the request has ended. For the thread that runs
 * the meta alone.
 *
 * <p>The first call waits until fewer runs than {@code meta-concurrency} are between their first
 * call and their end; runs that make none wait for nobody.
 */
public interface Calls {

  /**
   * Calls a model and waits for its answer.
   *
   * @param outputs those wanted; all when none is named
   * @throws CallException when the model does not answer; the request ends with its status if
   *     nobody catches it
   * @throws IllegalArgumentException when the manifest does not name the model
   */
  Tensors call(String model, Tensors inputs, String... outputs);

  /** As {@link #call}, without waiting: several calls run at once. */
  Pending callAsync(String model, Tensors inputs, String... outputs);

  /**
   * As {@link #callAsync}, for an answer that goes into further calls: outputs of 256 KiB or more
   * stay on the device where the request ran alone, and the next call takes them there. They can be
   * read, too, for the price of a copy.
   */
  default Pending forwardAsync(String model, Tensors inputs, String... outputs) {
    return callAsync(model, inputs, outputs);
  }

  /** As {@link #forwardAsync}, and waits. */
  default Tensors forward(String model, Tensors inputs, String... outputs) {
    return forwardAsync(model, inputs, outputs).await();
  }

  /**
   * Zeros to work with, which may be written, and be inputs of calls or part of the answer. Counted
   * until the run ends; then only what the answer has of it.
   *
   * <p>When tensors of other requests leave too little room, it waits for them, first come, first
   * served, until the deadline; the time limit does not count meanwhile. A run that has made
   * tensors already does not wait, as others may wait for those: make scratch first.
   *
   * @throws CallException DEADLINE_EXCEEDED when there was no room in time
   * @throws HookException RESOURCE_EXHAUSTED when there is none and the run may not wait, or it is
   *     more than there ever is
   */
  Tensor scratch(String name, DType dtype, long... shape);

  /**
   * Says that no further call follows, so that the next run may begin its calls while this one goes
   * on. Without it the end of the run says so.
   */
  void finish();

  /** A call that has been made. */
  interface Pending {

    /**
     * Waits for the answer.
     *
     * @throws CallException when the model does not answer
     */
    Tensors await();

    /** True when {@link #await} does not wait. */
    boolean isDone();
  }
}
