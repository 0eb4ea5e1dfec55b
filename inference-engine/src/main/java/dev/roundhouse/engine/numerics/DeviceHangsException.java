package dev.roundhouse.engine.numerics;

/**
 * The device has not come back from the probe, which is still in a call of it: the device cannot be
 * closed, and only a new process helps.
 */
public final class DeviceHangsException extends RuntimeException {
  DeviceHangsException(String message) {
    super(message);
  }
}
