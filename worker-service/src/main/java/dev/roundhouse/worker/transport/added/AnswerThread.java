package dev.roundhouse.worker.transport.added;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells one transport's sinks, in order. What it may wait for must not be the engine's to wait for.
 * The queue is bounded by the requests that the engine has accepted. Lives until the transport has
 * ended and its last request has been told. Any thread may add.
 */
final class AnswerThread {
  private static final Logger log = LoggerFactory.getLogger(AnswerThread.class);
  private static final Runnable END = () -> {};

  private final LinkedBlockingQueue<Runnable> pieces = new LinkedBlockingQueue<>();

  /** What it lives for: each request that has not ended, and the transport itself. */
  private final AtomicInteger needed = new AtomicInteger(1);

  private final String transport;
  private final Thread thread;

  /**
   * @param loader of the transport's classes
   */
  AnswerThread(String transport, ClassLoader loader) {
    this.transport = transport;
    thread = Thread.ofPlatform().daemon().name("transport-" + transport).unstarted(this::run);
    thread.setContextClassLoader(loader);
  }

  void start() {
    thread.start();
  }

  /**
   * A request begins, whose end is {@link #add added} later; false when it is too late for that.
   */
  boolean begin() {
    return needed.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
  }

  /** The end of a request was told, or is being told, or never comes. */
  void ended() {
    if (needed.decrementAndGet() == 0) {
      pieces.add(END);
    }
  }

  void add(Runnable piece) {
    pieces.add(piece);
  }

  private void run() {
    while (true) {
      Runnable next;
      try {
        next = pieces.take();
      } catch (InterruptedException e) {
        continue; // somebody else's code runs here, and may have interrupted its own thread
      }
      if (next == END) {
        return;
      }
      try {
        next.run();
      } catch (RuntimeException | Error e) { // the transport's other answers go on
        log.warn("transport '{}' did not take an answer", transport, e);
      }
    }
  }

  /** The transport has ended. Once; what its open requests end with is still told. */
  void end() {
    ended();
  }
}
