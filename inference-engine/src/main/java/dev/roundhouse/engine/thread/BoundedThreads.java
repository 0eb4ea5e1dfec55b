package dev.roundhouse.engine.thread;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;

/** Runs each task on a virtual thread of its own, up to a limit. Thread-safe. */
public final class BoundedThreads implements Executor {
  private final String name;
  private final int limit;
  private final Semaphore free;

  /**
   * @param name of each thread
   * @param limit tasks that run at once; further ones are refused
   */
  public BoundedThreads(String name, int limit) {
    this.name = name;
    this.limit = limit;
    free = new Semaphore(limit);
  }

  @Override
  public void execute(Runnable task) {
    if (!free.tryAcquire()) {
      throw new RejectedExecutionException("all %d threads '%s' are in use".formatted(limit, name));
    }
    try {
      Thread.ofVirtual().name(name).start(() -> run(task));
    } catch (Throwable e) {
      free.release();
      throw e;
    }
  }

  private void run(Runnable task) {
    try {
      task.run();
    } finally {
      free.release();
    }
  }
}
