package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.queue.AnswerMemory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs whose outputs are answers as they lie. Each is freed by the thread that gives its answer
 * back: devices let any thread do that, beside other runs. Thread-safe.
 */
final class LentRuns {
  private final AtomicInteger open = new AtomicInteger();
  private final Failures failures = new Failures();

  /**
   * Takes a run that is over.
   *
   * @return what frees it
   */
  AnswerMemory lend(Execution run) {
    open.incrementAndGet();
    return () -> {
      try {
        run.close();
      } catch (Throwable e) {
        failures.notFreed(e); // who gives an answer back has no use for it
      } finally {
        open.decrementAndGet();
      }
    };
  }

  /** Runs that have not been freed. */
  int open() {
    return open.get();
  }
}
