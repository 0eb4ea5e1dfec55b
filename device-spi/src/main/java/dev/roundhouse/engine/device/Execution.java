package dev.roundhouse.engine.device;

/**
 * One run of a program. Any thread may ask and wait, so that outputs are read on one thread while
 * another starts the next run; whoever started it closes it, once nobody reads its outputs.
 *
 * <p>What the run borrows (program, arguments, memory under aliased arguments) is the caller's
 * again when {@link #isDone} has said true, or {@link #await} or {@link #close} has come back. That
 * the time has passed is not enough.
 */
public interface Execution extends AutoCloseable {

  /** True once outputs may be read, or the run has failed; never blocks. */
  boolean isDone();

  /**
   * Has {@code callback} called once, when the run has ended or failed: {@link #isDone} says true
   * from then on. It is called on any thread, often one of the device's; by this call itself when
   * the run is over already; or by whichever call notices the end. It may still be under way when
   * other calls have noticed the end, and after {@link #close}.
   *
   * @param callback brief; neither blocks nor throws, and calls nothing of the device
   * @throws DeviceException INVALID_ARGUMENT when one was given before
   */
  void onDone(Runnable callback);

  /**
   * Waits for the run to end, whether or not the thread is interrupted.
   *
   * @throws DeviceException when it failed; outputs are then unusable
   */
  void await();

  /** An output in the program's order, owned by this execution. */
  DeviceBuffer output(int index);

  /** Frees the outputs; waits for the run to end if it has not. Closing twice is harmless. */
  @Override
  void close();
}
