package dev.roundhouse.engine.time;

import java.util.concurrent.locks.LockSupport;

/** Monotonic time. Thread-safe. */
public interface NanoClock {

  /** The process's own monotonic clock. */
  NanoClock SYSTEM =
      new NanoClock() {
        @Override
        public long nanoTime() {
          return System.nanoTime();
        }

        @Override
        public void sleepUntil(long nanos) {
          for (long left = nanos - nanoTime(); left > 0; left = nanos - nanoTime()) {
            LockSupport.parkNanos(this, left);
            if (Thread.currentThread().isInterrupted()) {
              return;
            }
          }
        }
      };

  /** Nanoseconds since some fixed moment; never goes back. */
  long nanoTime();

  /** Returns when {@link #nanoTime} has reached {@code nanos}, or on interruption. */
  void sleepUntil(long nanos);
}
