package dev.roundhouse.engine.device;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program or buffer of the simulated device: open until its owner closes it, once, when no run
 * and no read uses it. Thread-safe.
 */
abstract class SimulatedHandle implements AutoCloseable {
  private static final int CLOSED = -1;

  private final SimulatedDevice device;
  private final AtomicInteger users = new AtomicInteger();

  SimulatedHandle(SimulatedDevice device) {
    this.device = device;
  }

  /** Names this in messages, such as {@code buffer f32[4]}. */
  abstract String describe();

  final SimulatedDevice device() {
    return device;
  }

  /** Keeps this open until {@link #release}. */
  final void hold() {
    if (users.getAndUpdate(count -> count == CLOSED ? CLOSED : count + 1) == CLOSED) {
      throw new DeviceException(DeviceException.Code.CLOSED, describe() + " is closed");
    }
  }

  final void release() {
    users.getAndDecrement();
  }

  @Override
  public final void close() {
    int seen = users.compareAndExchange(0, CLOSED);
    if (seen > 0) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          describe() + " is in use by " + seen + " reads or runs; close it after they end");
    }
    if (seen == 0) {
      device.onClosed(this);
    } else {
      device.onClosedAgain();
    }
  }
}
