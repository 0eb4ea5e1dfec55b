package dev.roundhouse.engine.dispatch;

import java.util.concurrent.locks.LockSupport;

/**
 * Runs the dispatch loop on the thread {@code dispatch}: spins for a moment when there is nothing
 * to do, because a wake-up costs more than most requests, then parks. Never waits in the device.
 * Whatever the loop throws is the end of the engine.
 */
public final class DispatchThread implements AutoCloseable {
  private static final int LOOKS_PER_YIELD = 16;

  /** How long before the expected end of a run the thread looks for it instead of sleeping. */
  private static final long LOOK_BEFORE_END_NANOS = 60_000;

  private final DispatchProxy proxy;
  private final DispatchLoop loop;
  private final FailStop failStop;
  private final long spinNanos;
  private final Thread thread;
  private final Watchdog watchdog;
  private volatile boolean parked;
  private volatile boolean stopped;

  /** Turns of the loop; read by the watchdog. */
  private volatile long turns;

  private DispatchThread(DispatchProxy proxy, long spinNanos, Watchdog.Limits limits) {
    this.proxy = proxy;
    this.loop = proxy.loop();
    this.failStop = proxy.failStop();
    this.spinNanos = spinNanos;
    this.thread = Thread.ofPlatform().name("dispatch").unstarted(this::run);
    this.watchdog = new Watchdog(this, proxy, limits);
  }

  /**
   * Starts the thread, and the one that watches it.
   *
   * @param spinNanos how long to look for work before parking
   */
  public static DispatchThread start(DispatchProxy proxy, long spinNanos, Watchdog.Limits limits) {
    DispatchThread dispatch = new DispatchThread(proxy, spinNanos, limits);
    proxy.wakeBy(dispatch::wake);
    dispatch.thread.start();
    dispatch.watchdog.start();
    return dispatch;
  }

  /**
   * Lets the running batch end, sheds what waits, and returns when the thread is gone. Of an engine
   * that has failed the thread may be stuck in the device: it is left behind.
   */
  @Override
  public void close() {
    stopped = true;
    LockSupport.unpark(thread);
    boolean interrupted = false;
    while (thread.isAlive() && failStop.cause() == null) {
      try {
        thread.join(100);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    watchdog.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Turns so far; one that does not grow while the thread is awake has met something endless. */
  long turns() {
    return turns;
  }

  boolean isParked() {
    return parked;
  }

  boolean isAlive() {
    return thread.isAlive();
  }

  void wake() {
    // parked is read after the hand-over was published, and set before the loop looks one last
    // time: one of the two sides always sees the other.
    if (parked) {
      LockSupport.unpark(thread);
    }
  }

  /** Wakes the thread for certain, whatever it is doing. */
  void wakeForCertain() {
    LockSupport.unpark(thread);
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // this thread alone writes turns
  private void run() {
    try {
      long idleSince = 0;
      int looks = 0;
      while (!stopped) {
        Throwable failure = failStop.cause();
        if (failure != null) {
          proxy.failStop(failure);
          return;
        }
        turns++;
        if (loop.doWork() > 0) {
          idleSince = 0;
          continue;
        }
        long now = System.nanoTime();
        if (idleSince == 0) {
          idleSince = now;
        }
        if (now - idleSince < spinNanos || isAboutToEnd()) {
          // Whoever would hand something over may be waiting for this very CPU.
          if (++looks % LOOKS_PER_YIELD == 0) {
            Thread.yield();
          } else {
            Thread.onSpinWait();
          }
          continue;
        }
        park();
        idleSince = 0;
      }
      proxy.stop();
    } catch (DeviceCalls.SeizedException seized) {
      // The watchdog has ended every request in this thread's place.
    } catch (Throwable e) {
      failStop.request(e);
      proxy.failStop(e);
    }
  }

  private boolean isAboutToEnd() {
    long left = loop.untilExpectedEndNanos();
    return left < LOOK_BEFORE_END_NANOS && left > -LOOK_BEFORE_END_NANOS;
  }

  private void park() {
    loop.wakeAtRunEnd(this::wake);
    parked = true;
    if (!loop.hasWorkNow() && !stopped && failStop.cause() == null) {
      long moment = loop.untilNextMomentNanos();
      long end = loop.untilExpectedEndNanos() - LOOK_BEFORE_END_NANOS;
      long nanos = end > 0 ? Math.min(moment, end) : moment;
      if (nanos == Long.MAX_VALUE) {
        LockSupport.park(this);
      } else if (nanos > 0) {
        LockSupport.parkNanos(this, nanos);
      }
    }
    parked = false;
  }
}
