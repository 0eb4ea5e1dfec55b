package dev.roundhouse.worker.tee;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread {@code tee-copy}: copies large requests and answers, which whoever delivers answers
 * has no time for, and delivers them then. So many bytes may wait. Thread-safe.
 */
final class CopyThread implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(CopyThread.class);

  private final long mostBytes;
  private final AtomicLong waiting = new AtomicLong();
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("tee-copy").factory());

  CopyThread(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** False when too much waits, or it has stopped. Does not wait. */
  boolean offer(long bytes, Runnable copy) {
    long before = waiting.getAndAdd(bytes);
    if (before > 0 && before + bytes > mostBytes) {
      waiting.addAndGet(-bytes);
      return false;
    }
    try {
      thread.execute(
          () -> {
            try {
              copy.run();
            } catch (RuntimeException | Error e) {
              log.error("the receiver of an answer that was copied threw", e);
            } finally {
              waiting.addAndGet(-bytes);
            }
          });
      return true;
    } catch (RejectedExecutionException stopped) {
      waiting.addAndGet(-bytes);
      return false;
    }
  }

  /** What waits is still copied and delivered. */
  @Override
  public void close() {
    thread.close();
  }
}
