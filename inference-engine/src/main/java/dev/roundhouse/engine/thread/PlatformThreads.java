package dev.roundhouse.engine.thread;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks on platform threads, up to a limit, made when they are needed and kept for a while.
 * For code that nobody vouches for: a task that never ends costs its thread and no more, while a
 * virtual thread would keep a carrier that others need. The threads are daemons, and the system
 * prefers others to them. Thread-safe.
 */
public final class PlatformThreads implements Executor {
  private static final long KEPT_NANOS = Duration.ofSeconds(30).toNanos();

  private final String name;
  private final int limit;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private final Deque<Worker> idle = new ArrayDeque<>(); // the last that ran first
  private int count;
  private int generation;
  private long made;

  /**
   * @param name of the threads, before their number
   * @param limit tasks that run at once; further ones are refused
   */
  public PlatformThreads(String name, int limit) {
    if (limit < 1) {
      throw new IllegalArgumentException(limit + " threads '" + name + "' are too few");
    }
    this.name = name;
    this.limit = limit;
  }

  @Override
  public void execute(Runnable task) {
    Worker worker;
    lock.lock();
    try {
      worker = idle.pollFirst();
      if (worker == null) {
        if (count == limit) {
          throw new RejectedExecutionException(
              "all %d threads '%s' are in use".formatted(limit, name));
        }
        count++;
        Worker made = new Worker(generation, task, name + "-" + ++this.made);
        boolean started = false;
        try {
          made.thread.start();
          started = true;
        } finally {
          if (!started) {
            count--;
          }
        }
        return;
      }
    } finally {
      lock.unlock();
    }
    worker.task = task;
    LockSupport.unpark(worker.thread);
  }

  /** Lets every thread of now end with its task: whatever code has left in it goes with it. */
  public void renew() {
    lock.lock();
    try {
      generation++;
      for (Worker worker : idle) {
        count--;
        worker.task = END;
        LockSupport.unpark(worker.thread);
      }
      idle.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Threads that run a task, or wait for one. */
  public int count() {
    lock.lock();
    try {
      return count;
    } finally {
      lock.unlock();
    }
  }

  private static final Runnable END = () -> {};

  private final class Worker implements Runnable {
    private final int born;
    private final Thread thread;
    private volatile @Nullable Runnable task;

    Worker(int generation, Runnable first, String called) {
      born = generation;
      task = first;
      thread = Thread.ofPlatform().daemon().name(called).unstarted(this);
    }

    @Override
    public void run() {
      LowPriority.ofThisThread();
      try {
        runTasks();
      } finally {
        LowPriority.forgetThisThread();
      }
    }

    private void runTasks() {
      Runnable next = task;
      while (next != null && next != END) {
        task = null;
        var unused = Thread.interrupted(); // of the task before
        boolean ran = false;
        try {
          next.run();
          ran = true;
        } finally {
          if (!ran) {
            leave(); // the thread dies of it
          }
        }
        next = becomeIdle() ? await() : null;
      }
    }

    private void leave() {
      lock.lock();
      try {
        count--;
      } finally {
        lock.unlock();
      }
    }

    private boolean becomeIdle() {
      lock.lock();
      try {
        if (born != generation || LowPriority.isLowest(thread)) {
          count--;
          return false;
        }
        idle.addFirst(this);
        return true;
      } finally {
        lock.unlock();
      }
    }

    /** The next task; null when none comes. */
    private @Nullable Runnable await() {
      long end = System.nanoTime() + KEPT_NANOS;
      while (true) {
        Runnable next = task;
        if (next != null) {
          return next;
        }
        long left = end - System.nanoTime();
        if (left <= 0 && isGone()) {
          return null;
        }
        var unused = Thread.interrupted(); // or it would not sleep
        LockSupport.parkNanos(this, Math.max(1, left));
      }
    }

    /** Leaves the idle ones; false when a task is on its way. */
    private boolean isGone() {
      lock.lock();
      try {
        boolean gone = idle.remove(this);
        count -= gone ? 1 : 0;
        return gone;
      } finally {
        lock.unlock();
      }
    }
  }
}
