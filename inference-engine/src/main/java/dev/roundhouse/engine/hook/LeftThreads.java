package dev.roundhouse.engine.hook;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads that a bundle has started and that outlive it: platform threads whose context class
 * loader is the bundle's, as those have that its code starts. Virtual ones cannot be listed.
 */
final class LeftThreads {
  private static final Logger log = LoggerFactory.getLogger(LeftThreads.class);

  private static final Duration GRACE = Duration.ofSeconds(1);

  private LeftThreads() {}

  /**
   * Interrupts them and waits a little; names those that go on.
   *
   * @param except threads for hooks, which end with them
   */
  static void end(ClassLoader loader, String model, Set<Thread> except) {
    List<Thread> left =
        all().stream()
            .filter(thread -> thread.getContextClassLoader() == loader && !except.contains(thread))
            .toList();
    left.forEach(Thread::interrupt);
    long end = System.nanoTime() + GRACE.toNanos();
    for (Thread thread : left) {
      if (isOver(thread, Duration.ofNanos(Math.max(1, end - System.nanoTime())))) {
        log.warn(
            "model '{}' had left thread {} running; it has been interrupted, and has ended",
            model,
            thread.getName());
      } else {
        log.warn(
            "model '{}' has left thread {} running, which does not stop and keeps its classes: it is at\n{}",
            model,
            thread.getName(),
            HookWatch.stack(thread));
      }
    }
  }

  private static boolean isOver(Thread thread, Duration patience) {
    try {
      return thread.join(patience);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static List<Thread> all() {
    ThreadGroup root = Thread.currentThread().getThreadGroup();
    while (root.getParent() != null) {
      root = root.getParent();
    }
    Thread[] threads = new Thread[root.activeCount() + 64];
    int count = root.enumerate(threads);
    while (count == threads.length) {
      threads = new Thread[threads.length * 2];
      count = root.enumerate(threads);
    }
    return Arrays.asList(threads).subList(0, count);
  }
}
