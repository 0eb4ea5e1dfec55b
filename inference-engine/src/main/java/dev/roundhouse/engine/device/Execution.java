package dev.roundhouse.engine.device;

/** One run of a program. Used by the dispatch thread only. */
public interface Execution extends AutoCloseable {

  /** True once outputs may be read, or the run has failed; never blocks. */
  boolean isDone();

  /**
   * Waits for the run to end.
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
