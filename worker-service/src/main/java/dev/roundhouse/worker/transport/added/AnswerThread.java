package dev.roundhouse.worker.transport.added;

import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells one transport's sinks, in order. What it may wait for must not be the engine's to wait for.
 * The queue is bounded by the requests that the engine has accepted. Any thread may add.
 */
final class AnswerThread {
  private static final Logger log = LoggerFactory.getLogger(AnswerThread.class);
  private static final Runnable END = () -> {};

  private final LinkedBlockingQueue<Runnable> pieces = new LinkedBlockingQueue<>();
  private final String transport;
  private final Thread thread;

  AnswerThread(String transport) {
    this.transport = transport;
    thread = Thread.ofPlatform().daemon().name("transport-" + transport).unstarted(this::run);
  }

  void start() {
    thread.start();
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

  /** Ends once what was added before is told. */
  void end() {
    pieces.add(END);
  }
}
