package dev.roundhouse.engine.device;

/** Bytes on their way to a device. Any thread. */
public interface Arrival {

  /** True when they are there, or will never be: {@link #awaitReady} tells which. */
  boolean isReady();

  /**
   * Waits until they are there.
   *
   * @throws DeviceException when they never will be, or what they belong to is closed
   */
  void awaitReady();
}
