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

  /**
   * Takes an output out of a run that is over: from now on it is the caller's, who closes it, and
   * {@link #close} leaves it alone. It may be an argument of the next run, so what one run leaves
   * for another never leaves the device. Not while another thread asks for the same output.
   *
   * @throws DeviceException INVALID_ARGUMENT when the end of the run has not been noticed, CLOSED
   *     when the output was taken before, UNSUPPORTED where outputs stay with their run, or what
   *     the run failed of
   */
  default DeviceBuffer take(int index) {
    throw new DeviceException(
        DeviceException.Code.UNSUPPORTED, "outputs stay with their run on this device");
  }

  /**
   * Frees the outputs that were not taken; waits for the run to end if it has not. Closing twice is
   * harmless.
   */
  @Override
  void close();
}
