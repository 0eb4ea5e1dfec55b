package dev.roundhouse.engine.numerics;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.numerics.NumericsProbe.Finding;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The probe on a thread of its own, as a call of a device that hangs cannot be called off: that
 * thread is left behind in it.
 */
record TimedProbe(Device device, Duration limit) {

  /**
   * Runs the probe.
   *
   * @throws DeviceException when the device fails
   * @throws DeviceHangsException when it has not come back within the limit
   */
  Finding run() {
    FutureTask<Finding> probe = new FutureTask<>(() -> NumericsProbe.run(device));
    Thread.ofPlatform().daemon().name(NumericsProbe.NAME).start(probe);
    boolean interrupted = false;
    long end = System.nanoTime() + limit.toNanos();
    try {
      while (true) {
        try {
          return probe.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (TimeoutException e) {
      throw new DeviceHangsException(
          "device '%s' (%s) has not come back from the numerics probe, a small compile and one run, within %d ms"
              .formatted(
                  device.description().kind(), device.description().platform(), limit.toMillis()));
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case RuntimeException failure -> throw failure;
        case Error failure -> throw failure;
        case null, default -> throw new IllegalStateException(e);
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
