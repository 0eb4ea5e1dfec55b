package dev.roundhouse.benchmarks.engine;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * What it takes a parked platform thread to run again after another has unparked it: the floor of
 * whatever hands work to a thread that waits. For use by one thread.
 */
final class ThreadWake implements AutoCloseable {
  private static final int WAKES = 2_000;

  /** By then a thread that has nothing to do has parked. */
  private static final long PARKED_AFTER_NANOS = 20_000;

  private final Thread sleeper = Thread.ofPlatform().daemon().name("sleeper").start(this::sleep);
  private volatile int asked;
  private volatile int awake;
  private volatile boolean closed;

  /** Median of many, from before the unpark until the other thread has said that it runs. */
  double p50Micros() {
    long[] nanos = new long[WAKES];
    for (int i = 0; i < WAKES; i++) {
      lookUntil(System.nanoTime() + PARKED_AFTER_NANOS);
      int wake = asked + 1;
      long begin = System.nanoTime();
      asked = wake;
      LockSupport.unpark(sleeper);
      while (awake != wake) {
        Thread.onSpinWait();
      }
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    return nanos[WAKES / 2] / 1e3;
  }

  private static void lookUntil(long nanoTime) {
    while (System.nanoTime() < nanoTime) {
      Thread.onSpinWait();
    }
  }

  private void sleep() {
    while (!closed) {
      awake = asked;
      if (awake == asked) {
        LockSupport.park(this);
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(sleeper);
  }
}
