package dev.roundhouse.engine.device;

import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Calls back at a moment of the system's clock, on one daemon thread of all simulated devices. It
 * starts with the first registered callback.
 */
final class SimulatedTimer {
  /** Linux wakes a thread 50 us late and more; the rest is waited out awake. */
  private static final long EARLY_NANOS = 100_000;

  private static final ScheduledThreadPoolExecutor THREAD =
      new ScheduledThreadPoolExecutor(
          1, task -> Thread.ofPlatform().daemon().name("simulated-device").unstarted(task));

  private SimulatedTimer() {}

  static void at(long nanos, Runnable task) {
    long delay = nanos - NanoClock.SYSTEM.nanoTime() - EARLY_NANOS;
    THREAD.schedule(() -> callAt(nanos, task), Math.max(0, delay), TimeUnit.NANOSECONDS);
  }

  private static void callAt(long nanos, Runnable task) {
    while (NanoClock.SYSTEM.nanoTime() < nanos) {
      Thread.yield();
    }
    task.run();
  }
}
