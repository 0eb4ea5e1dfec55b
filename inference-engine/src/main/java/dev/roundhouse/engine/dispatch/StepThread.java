package dev.roundhouse.engine.dispatch;

import java.util.concurrent.locks.LockSupport;

/**
 * A thread beside {@code dispatch} that does one thing after the other and parks when there is
 * nothing to do. It ends when closed or when the engine fails; a daemon, as it may then hang in the
 * device.
 */
abstract class StepThread {
  private final FailStop failStop;
  private final Thread thread;
  private volatile Runnable wakeDispatch = () -> {};
  private volatile boolean stopped;

  StepThread(String name, FailStop failStop) {
    this.failStop = failStop;
    thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
  }

  /** Does one thing; false when there is nothing to do. */
  abstract boolean step();

  /** The last call, on this thread, once there is nothing to do and it has been closed. */
  abstract void onStop();

  /** Whether what is left is to be given up as soon as the thread is closed. */
  abstract boolean givesUp();

  final FailStop failStop() {
    return failStop;
  }

  final void start() {
    thread.start();
    var unused = failStop.requested().thenRun(this::wake);
  }

  final void wakeDispatchBy(Runnable wake) {
    wakeDispatch = wake;
  }

  final void wakeDispatch() {
    wakeDispatch.run();
  }

  /** There may be something to do. */
  final void wake() {
    LockSupport.unpark(thread);
  }

  /** Returns when the thread is gone. Dispatch thread only. */
  final void close() {
    stopped = true;
    wake();
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
    try {
      while (failStop.cause() == null) {
        boolean over = stopped;
        if (over && givesUp()) {
          onStop();
          return;
        }
        if (!step()) {
          if (over) {
            onStop();
            return;
          }
          LockSupport.park(this);
        }
      }
    } catch (Throwable e) {
      failStop.request(e);
      wakeDispatch();
    }
  }
}
