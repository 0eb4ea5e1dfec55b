package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.Transport;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A transport that others have written: whatever it throws, or waits for, stays its own. Its code
 * runs with its own class loader as the thread's, by which libraries look for their parts.
 */
public final class AddedTransport implements Transport {
  private static final Logger log = LoggerFactory.getLogger(AddedTransport.class);

  /** What it has beyond its budget to close what it has. */
  private static final Duration CLOSING = Duration.ofSeconds(2);

  /** To tell its clients to go elsewhere. */
  private static final Duration DRAINING = Duration.ofSeconds(1);

  private final String name;
  private final Transport made;
  private final WorkerContext context;
  private final ClassLoader loader;
  private volatile boolean started;

  /**
   * @param loader of its classes
   */
  AddedTransport(String name, Transport made, WorkerContext context, ClassLoader loader) {
    this.name = name;
    this.made = made;
    this.context = context;
    this.loader = loader;
  }

  @Override
  public String name() {
    return name;
  }

  public TransportCounts counts() {
    return context.counts();
  }

  @Override
  public void start() throws IOException {
    context.answers().start();
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    try {
      made.start();
      started = true;
    } catch (RuntimeException | Error e) {
      throw new IOException("it failed with " + e, e);
    } finally {
      thread.setContextClassLoader(before);
      if (!started) {
        context.end();
      }
    }
  }

  @Override
  public List<Integer> ports() {
    try {
      return started ? List.copyOf(made.ports()) : List.of();
    } catch (RuntimeException | Error e) {
      log.warn("transport '{}' does not tell its ports", name, e);
      return List.of();
    }
  }

  @Override
  public void drain() {
    context.drain();
    if (started) {
      try {
        run("drain", made::drain, DRAINING);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // it is stopped soon
      }
    }
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    if (!started) {
      return;
    }
    try {
      run("stop", () -> made.stop(budget), budget.plus(CLOSING));
    } finally {
      started = false;
      context.end();
    }
  }

  private interface Piece {
    void run() throws InterruptedException;
  }

  /** Waits for a piece of its code no longer than that, and interrupts it then. */
  private void run(String what, Piece piece, Duration most) throws InterruptedException {
    CountDownLatch over = new CountDownLatch(1);
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .name("transport-" + name + "-" + what)
            .unstarted(
                () -> {
                  try {
                    piece.run();
                  } catch (RuntimeException | Error | InterruptedException e) {
                    log.error("transport '{}' could not {}", name, what, e);
                  } finally {
                    over.countDown();
                  }
                });
    thread.setContextClassLoader(loader);
    thread.start();
    if (!over.await(most.toNanos(), TimeUnit.NANOSECONDS)) {
      log.error("transport '{}' did not {} within {} ms", name, what, most.toMillis());
      thread.interrupt();
    }
  }
}
