package dev.roundhouse.worker.tee;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The thread {@code tee-copy}: copies large requests and answers, which whoever delivers answers
 * has no time for, and delivers them then. So many bytes may wait. Thread-safe.
 */
final class CopyThread implements AutoCloseable {
  private final long mostBytes;
  private final FailureLog failures;
  private final AtomicLong waiting = new AtomicLong();
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("tee-copy").factory());

  CopyThread(long mostBytes, FailureLog failures) {
    this.mostBytes = mostBytes;
    this.failures = failures;
  }

  /** False when too much waits, or it takes no more. Does not wait, and throws nothing. */
  boolean offer(long bytes, Runnable copy) {
    long before = waiting.getAndAdd(bytes);
    if (before > 0 && before + bytes > mostBytes) {
      waiting.addAndGet(-bytes);
      return false;
    }
    try {
      thread.execute(() -> run(bytes, copy));
      return true;
    } catch (RuntimeException | Error e) { // it has stopped, or there is no memory for a task
      waiting.addAndGet(-bytes);
      return false;
    }
  }

  private void run(long bytes, Runnable copy) {
    try {
      copy.run();
    } catch (RuntimeException | Error e) {
      failures.say("the receiver of an answer that was copied threw", e);
    } finally {
      waiting.addAndGet(-bytes);
    }
  }

  /** What waits is still copied and delivered. */
  @Override
  public void close() {
    thread.close();
  }
}
