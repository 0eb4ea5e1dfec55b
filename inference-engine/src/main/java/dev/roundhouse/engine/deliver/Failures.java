package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.observe.LogThrottle;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a failed batch, or member of one, tells its callers: the reason, never a stack trace. */
public final class Failures {
  private static final Logger log = LoggerFactory.getLogger(Failures.class);

  private final LogThrottle refused = new LogThrottle(log);
  private final LogThrottle unexpected = new LogThrottle(log);

  /** The outcome of a failed run; logs it, at most once a second. */
  public Outcome.Failed outcome(String model, Throwable cause) {
    if (cause instanceof DeviceException device) {
      refused.warn("model '" + model + "': execution failed: " + device.getMessage());
      Status status =
          switch (device.code()) {
            case OUT_OF_MEMORY, NO_THREAD -> Status.RESOURCE_EXHAUSTED;
            case UNSUPPORTED -> Status.UNIMPLEMENTED;
            case DEVICE_LOST -> Status.UNAVAILABLE;
            case INVALID_ARGUMENT, CLOSED, INTERNAL -> Status.INTERNAL;
          };
      return new Outcome.Failed(
          status, "execution of model '" + model + "' failed: " + device.getMessage());
    }
    unexpected.warn("model '" + model + "': a run failed unexpectedly", cause);
    if (cause instanceof OutOfMemoryError) {
      return new Outcome.Failed(
          Status.RESOURCE_EXHAUSTED,
          "the server has no memory for this run of model '" + model + "'; retry later");
    }
    return new Outcome.Failed(
        Status.INTERNAL,
        "execution of model '" + model + "' failed unexpectedly; the server's log has the cause");
  }

  /** The outcome when a model's weights could not be loaded; logs it, at most once a second. */
  public Outcome.Failed notLoaded(String model, Throwable cause) {
    String what = "weights of model '" + model + "' could not be brought to the device";
    if (cause instanceof DeviceException device) {
      refused.warn(what + ": " + device.getMessage());
      Status status =
          device.code() == DeviceException.Code.OUT_OF_MEMORY
              ? Status.RESOURCE_EXHAUSTED
              : Status.UNAVAILABLE;
      return new Outcome.Failed(status, what + ": " + device.getMessage());
    }
    unexpected.warn(what, cause);
    return new Outcome.Failed(Status.UNAVAILABLE, what + "; the server's log has the cause");
  }

  /** The outcome when a model is not on the device and only the operator loads it. */
  public static Outcome.Failed notResident(String model) {
    return new Outcome.Failed(
        Status.FAILED_PRECONDITION,
        "model '%s' is not on the device, and this server brings only what its operator asks for; have it brought by SetModelResidency with PINNED_DEVICE"
            .formatted(model));
  }

  /** Notes that weights of so many models leave the device because a model had too little room. */
  public void makingRoom(String model, int leaving) {
    refused.warn(
        "model '%s' found too little device memory: weights of %d models leave, and it is tried again"
            .formatted(model, leaving));
  }

  /** True when the device has too little memory, which making room may fix. */
  public static boolean isOutOfMemory(Throwable cause) {
    return cause instanceof DeviceException device
        && device.code() == DeviceException.Code.OUT_OF_MEMORY;
  }

  /** True when the device is gone, which is the end of the engine. */
  public static boolean isLost(Throwable cause) {
    return cause instanceof DeviceException device
        && device.code() == DeviceException.Code.DEVICE_LOST;
  }

  /** Logs that a run's resources stay on the device; its callers have been answered. */
  public void notFreed(Throwable cause) {
    unexpected.warn("something of a run could not be freed", cause);
  }

  /** The outcome when a request's own inputs could not be read at its turn. */
  public Outcome.Failed unreadable(String model, Throwable cause) {
    if (cause instanceof DeviceException device) {
      String what = "the inputs for model '" + model + "' could not be read: ";
      refused.warn(what + device.getMessage());
      return new Outcome.Failed(Status.INTERNAL, what + device.getMessage());
    }
    unexpected.warn("model '" + model + "': a caller's input could not be read", cause);
    return new Outcome.Failed(
        Status.INVALID_ARGUMENT,
        "the inputs for model '"
            + model
            + "' could not be read when their turn came; keep their memory open and unchanged until the request has ended");
  }
}
