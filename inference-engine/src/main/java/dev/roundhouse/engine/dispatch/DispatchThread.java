package dev.roundhouse.engine.dispatch;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the dispatch loop on the thread {@code dispatch}: spins for a moment when there is nothing
 * to do, because a wake-up costs more than most requests, then parks. Never waits in the device.
 * Any exception from the loop ends the engine.
 */
public final class DispatchThread implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DispatchThread.class);

  private static final int LOOKS_PER_YIELD = 16;

  /** How long {@link #close} waits for the requests of an engine that has failed to be ended. */
  private static final int MOST_TO_END_SECONDS = 5;

  private static final VarHandle TURNS = MethodHandles.arrayElementVarHandle(long[].class);

  /** In the middle of an array that keeps other data off its cache line. */
  private static final int TURNS_INDEX = 8;

  private final DispatchProxy proxy;
  private final DispatchLoop loop;
  private final Pipeline pipeline;
  private final FailStop failStop;
  private final long spinNanos;
  private final Thread thread;
  private final Watchdog watchdog;
  private final WakeLateness lateness = new WakeLateness();
  private volatile boolean parked;
  private volatile boolean stopped;

  /**
   * Turns of the loop; read by the watchdog, through TURNS. Written all the time, so it stands
   * apart from what every submitter reads.
   */
  private final long[] turns = new long[2 * TURNS_INDEX + 1];

  /** Starts with {@link #begin}. */
  DispatchThread(DispatchProxy proxy, long spinNanos, Watchdog.Limits limits) {
    this.proxy = proxy;
    this.loop = proxy.loop();
    this.pipeline = loop.pipeline();
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
    dispatch.begin();
    dispatch.watchdog.start();
    return dispatch;
  }

  /** Starts the thread alone. */
  void begin() {
    proxy.wakeBy(this::wake);
    thread.start();
  }

  /**
   * Lets the running batch end, sheds what waits, and returns when the thread is gone. After a
   * failure, a thread stuck in the device is left behind.
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
    if (failStop.cause() != null) {
      awaitEndOfRequests();
    }
    watchdog.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** In a failed engine every request is ended first, by the dispatch thread or the watchdog. */
  private void awaitEndOfRequests() {
    try {
      failStop.ended().copy().orTimeout(MOST_TO_END_SECONDS, TimeUnit.SECONDS).join();
    } catch (CompletionException e) {
      log.error("an engine that failed has not ended its requests in time", e);
    }
  }

  /** Turns so far; if it does not grow while the thread is awake, the loop hangs. */
  long turns() {
    return (long) TURNS.getOpaque(turns, TURNS_INDEX);
  }

  boolean isParked() {
    return parked;
  }

  boolean isAlive() {
    return thread.isAlive();
  }

  /** Where the thread is; empty when it has ended. */
  StackTraceElement[] stackTrace() {
    return thread.getStackTrace();
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

  private void run() {
    try {
      loop.turnedHere();
      pipeline.wakesLateBy(lateness.nanos());
      long idleSince = 0;
      int looks = 0;
      while (!stopped) {
        Throwable failure = failStop.cause();
        if (failure != null) {
          proxy.failStop(failure);
          return;
        }
        TURNS.setOpaque(turns, TURNS_INDEX, turns[TURNS_INDEX] + 1);
        if (loop.doWork() > 0) {
          idleSince = 0;
          continue;
        }
        long now = System.nanoTime();
        if (idleSince == 0) {
          idleSince = now;
        }
        if (spins(now - idleSince)) {
          // The thread that wants to hand over may be waiting for this very CPU.
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

  /**
   * Not while this host's processors compute the run: on two of them, spinning makes small runs of
   * XLA's CPU client up to 2.5 times as long.
   */
  private boolean spins(long idleNanos) {
    if (pipeline.isComputingHere()) {
      return false;
    }
    return idleNanos < spinNanos || pipeline.isEndNear();
  }

  private void park() {
    pipeline.wakeAtRunEnd(this::wake);
    parked = true;
    if (!loop.hasWorkNow() && !stopped && failStop.cause() == null) {
      long nanos = sleepNanos();
      if (nanos == Long.MAX_VALUE) {
        LockSupport.park(this);
      } else if (nanos > 0) {
        long until = System.nanoTime() + nanos;
        LockSupport.parkNanos(this, nanos);
        long late = System.nanoTime() - until;
        if (late > 0) {
          lateness.woke(late);
          pipeline.wakesLateBy(lateness.nanos());
        }
      }
    }
    parked = false;
  }

  private long sleepNanos() {
    long moment = loop.untilNextMomentNanos();
    long attention = pipeline.isComputingHere() ? -1 : pipeline.untilAttentionNanos();
    return attention > 0 ? Math.min(moment, attention) : moment;
  }
}
