package dev.roundhouse.engine.device;

/** A device refused or failed. The message names the thing, the value, the limit and the fix. */
public final class DeviceException extends RuntimeException {
  private final Code code;

  public DeviceException(Code code, String message) {
    super(message);
    this.code = code;
  }

  public DeviceException(Code code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  public Code code() {
    return code;
  }

  /** The runtime's status codes that a caller can act on. */
  public enum Code {
    /** The caller's mistake; the same call fails again. */
    INVALID_ARGUMENT,
    /** Device memory is exhausted; may pass after eviction. */
    OUT_OF_MEMORY,
    /** The device or plugin cannot do this. */
    UNSUPPORTED,
    /** The system gave no thread or no process; may pass. */
    NO_THREAD,
    /** A handle was used after it was closed. */
    CLOSED,
    /** The runtime failed internally; another call may succeed. */
    INTERNAL,
    /**
     * The device is gone: what was on it is lost, and every later call fails. Only a new process
     * helps.
     */
    DEVICE_LOST
  }
}
