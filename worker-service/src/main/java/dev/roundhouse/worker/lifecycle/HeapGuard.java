package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.hook.BundleThreads;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends a process that has run out of heap for good. A hook that fills the heap fails its request,
 * and what it held is collected, so the JVM must not end at the first {@link OutOfMemoryError}. It
 * ends when a thread of the server's own dies of one, for nobody does that thread's work any more,
 * and when the heap stays full. Thread-safe.
 */
public final class HeapGuard implements AutoCloseable {
  /** The process's exit code; the JVM uses the same for {@code ExitOnOutOfMemoryError}. */
  public static final int CODE = 3;

  private static final Logger log = LoggerFactory.getLogger(HeapGuard.class);

  /** Of the heap, in use after a collection: hardly anything can be allocated. */
  private static final double FULL = 0.95;

  /** Looks in a row that find the heap full before the process ends. */
  static final int MOST_LOOKS = 5;

  private static final long BETWEEN_LOOKS_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final LongSupplier usedBytes;
  private final Runnable collector;
  private final long maxBytes;
  private final IntConsumer exit;
  private int fullLooks;
  private volatile boolean closed;

  /**
   * @param usedBytes of the heap after its last collection
   * @param collector runs a collection
   * @param maxBytes of the heap
   * @param exit ends the process with a code, without waiting for anything
   */
  HeapGuard(LongSupplier usedBytes, Runnable collector, long maxBytes, IntConsumer exit) {
    this.usedBytes = usedBytes;
    this.collector = collector;
    this.maxBytes = maxBytes;
    this.exit = exit;
  }

  /**
   * Begins to guard this process.
   *
   * @param exit ends the process with a code, without waiting for anything
   */
  public static HeapGuard start(IntConsumer exit) {
    List<MemoryPoolMXBean> heap =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP)
            .toList();
    HeapGuard guard =
        new HeapGuard(
            () -> usedAfterCollection(heap), System::gc, Runtime.getRuntime().maxMemory(), exit);
    Thread.setDefaultUncaughtExceptionHandler(guard::ended);
    Thread.ofPlatform().daemon().name("heap-guard").start(guard::run);
    return guard;
  }

  private static long usedAfterCollection(List<MemoryPoolMXBean> heap) {
    long bytes = 0;
    for (MemoryPoolMXBean pool : heap) {
      MemoryUsage usage = pool.getCollectionUsage();
      bytes += usage == null ? 0 : usage.getUsed();
    }
    return bytes;
  }

  private void run() {
    while (!closed) {
      LockSupport.parkNanos(this, BETWEEN_LOOKS_NANOS);
      try {
        look();
      } catch (OutOfMemoryError e) {
        continue; // the next look counts
      }
    }
  }

  /** Ends the process if the heap has been full for {@link #MOST_LOOKS} looks in a row. */
  void look() {
    if (isFull()) {
      collector.run(); // the last collection may be over for long
    }
    if (!isFull()) {
      fullLooks = 0;
      return;
    }
    fullLooks++;
    if (fullLooks >= MOST_LOOKS) {
      end(
          "the heap of %d MiB has been full for %d collections"
              .formatted(maxBytes >> 20, MOST_LOOKS));
    }
  }

  private boolean isFull() {
    return usedBytes.getAsLong() > FULL * maxBytes;
  }

  /** A thread has ended by an exception. */
  void ended(Thread thread, Throwable by) {
    if (by instanceof OutOfMemoryError && !BundleThreads.isOne(thread)) {
      end("thread '%s' has run out of memory".formatted(thread.getName()));
    }
    log.error("thread '{}' has ended", thread.getName(), by);
  }

  private void end(String why) {
    try {
      log.error("{}; the process exits with code {}", why, CODE);
    } finally {
      exit.accept(CODE);
    }
  }

  @Override
  public void close() {
    closed = true;
    Thread.setDefaultUncaughtExceptionHandler(null);
  }
}
