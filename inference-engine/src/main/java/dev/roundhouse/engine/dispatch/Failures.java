package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a failed batch tells its callers: the reason, never a stack trace. */
final class Failures {
  private static final Logger log = LoggerFactory.getLogger(Failures.class);

  private Failures() {}

  static Outcome.Failed outcome(String model, RuntimeException cause) {
    if (cause instanceof DeviceException device) {
      log.warn("model '{}': execution failed: {}", model, device.getMessage());
      Status status =
          switch (device.code()) {
            case OUT_OF_MEMORY -> Status.RESOURCE_EXHAUSTED;
            case UNSUPPORTED -> Status.UNIMPLEMENTED;
            case INVALID_ARGUMENT, CLOSED, INTERNAL, DEVICE_LOST -> Status.INTERNAL;
          };
      return new Outcome.Failed(
          status, "execution of model '" + model + "' failed: " + device.getMessage());
    }
    log.error("model '{}': a batch failed unexpectedly", model, cause);
    return new Outcome.Failed(
        Status.INTERNAL,
        "execution of model '" + model + "' failed unexpectedly; the server's log has the cause");
  }
}
