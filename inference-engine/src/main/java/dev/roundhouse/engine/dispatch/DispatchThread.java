package dev.roundhouse.engine.dispatch;

import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the dispatch loop on the thread {@code dispatch}: spins for a moment when there is nothing
 * to do, because a wake-up costs more than most requests, then parks.
 */
public final class DispatchThread implements AutoCloseable {
  private static final int LOOKS_PER_YIELD = 16;

  private static final Logger log = LoggerFactory.getLogger(DispatchThread.class);

  private final DispatchProxy proxy;
  private final DispatchLoop loop;
  private final long spinNanos;
  private final Thread thread;
  private volatile boolean parked;
  private volatile boolean stopped;

  private DispatchThread(DispatchProxy proxy, long spinNanos) {
    this.proxy = proxy;
    this.loop = proxy.loop();
    this.spinNanos = spinNanos;
    this.thread = Thread.ofPlatform().name("dispatch").unstarted(this::run);
  }

  /**
   * Starts the thread.
   *
   * @param spinNanos how long to look for work before parking
   */
  public static DispatchThread start(DispatchProxy proxy, long spinNanos) {
    DispatchThread dispatch = new DispatchThread(proxy, spinNanos);
    proxy.wakeBy(dispatch::wake);
    dispatch.thread.start();
    return dispatch;
  }

  /** Lets the running batch end, sheds what waits, and returns when the thread is gone. */
  @Override
  public void close() {
    stopped = true;
    LockSupport.unpark(thread);
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void wake() {
    // parked is read after the hand-over was published, and set before the loop looks one last
    // time: one of the two sides always sees the other.
    if (parked) {
      LockSupport.unpark(thread);
    }
  }

  private void run() {
    long idleSince = 0;
    int looks = 0;
    while (!stopped) {
      if (work() > 0) {
        idleSince = 0;
        continue;
      }
      long now = System.nanoTime();
      if (idleSince == 0) {
        idleSince = now;
      }
      if (now - idleSince < spinNanos) {
        // Whoever would hand something over may be waiting for this very CPU.
        if (++looks % LOOKS_PER_YIELD == 0) {
          Thread.yield();
        } else {
          Thread.onSpinWait();
        }
        continue;
      }
      if (!loop.awaitDevice()) {
        park();
      }
      idleSince = 0;
    }
    proxy.stop();
  }

  private int work() {
    try {
      return loop.doWork();
    } catch (RuntimeException e) {
      // The loop fails batches, not itself; what comes here is a defect that must not stop the
      // rest.
      log.error("the dispatch loop met a defect", e);
      return 1;
    }
  }

  private void park() {
    parked = true;
    if (!loop.hasWork() && !stopped) {
      long release = loop.untilReleaseNanos();
      if (release == Long.MAX_VALUE) {
        LockSupport.park(this);
      } else if (release > 0) {
        LockSupport.parkNanos(this, release);
      }
    }
    parked = false;
  }
}
