package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.residency.LoadLane;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Turns the LOAD lane on the thread {@code weights}, which may wait for the link and the disk. */
public final class WeightsThread {
  private final FailStop failStop;
  private final Thread thread = Thread.ofPlatform().name("weights").unstarted(this::run);
  private @Nullable LoadLane lane;
  private volatile Runnable wakeDispatch = () -> {};
  private volatile boolean stopped;

  /** Since when the lane has been turned, or the link waited for, on the system's clock. */
  private volatile long busySinceNanos = DeviceCalls.NONE;

  public WeightsThread(FailStop failStop) {
    this.failStop = failStop;
  }

  /** Starts the thread. */
  void open(LoadLane with) {
    lane = with;
    thread.start();
  }

  void wakeDispatchBy(Runnable wake) {
    wakeDispatch = wake;
  }

  /** Something was handed to the lane. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Since when one step has been under way; {@link DeviceCalls#NONE} while none is. Any thread. */
  long busySinceNanos() {
    return busySinceNanos;
  }

  /** Gives up what is under way; returns when the thread is gone. Dispatch thread only. */
  void close() {
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

  private void run() {
    LoadLane turned = Objects.requireNonNull(lane);
    try {
      while (!stopped) {
        if (!step(turned)) {
          LockSupport.park(this);
        }
      }
      turned.close();
    } catch (Throwable e) {
      failStop.request(e);
      wakeDispatch.run();
    }
  }

  /** False when there is nothing to do. */
  private boolean step(LoadLane turned) {
    busySinceNanos = System.nanoTime();
    try {
      if (turned.turn() > 0) {
        wakeDispatch.run();
        return true;
      }
      if (turned.isBusy()) {
        turned.await();
        return true;
      }
      return false;
    } finally {
      busySinceNanos = DeviceCalls.NONE;
    }
  }
}
