package dev.roundhouse.transport.http2;

import io.netty.util.internal.PlatformDependent;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Takes parts of answers from any thread to a connection's event loop, in order, and has those that
 * are there together written together: one wake-up and one flush for all of them.
 */
final class GatheredWrites {
  private final PeerConnection connection;
  private final Queue<Part> parts = PlatformDependent.newMpscQueue();
  private final AtomicBoolean writing = new AtomicBoolean();

  /** What was read is being handled: what is written meanwhile goes out after it. */
  private boolean reading;

  /** Part of an answer. */
  interface Part {
    /** On the event loop. */
    void write();

    /** It is not written: the event loop has stopped. */
    void drop();
  }

  GatheredWrites(PeerConnection connection) {
    this.connection = connection;
  }

  /** Any thread. */
  void send(Part part) {
    parts.add(part);
    if (connection.context().executor().inEventLoop() && reading) {
      return;
    }
    wake();
  }

  private void wake() {
    if (!writing.get() && writing.compareAndSet(false, true)) {
      try {
        connection.context().executor().execute(this::writeAndFlush);
      } catch (RejectedExecutionException e) {
        for (Part part = parts.poll(); part != null; part = parts.poll()) {
          part.drop();
        }
      }
    }
  }

  /** What is gathered while this writes goes out with it, and wakes nobody. */
  private void writeAndFlush() {
    try {
      if (write()) {
        connection.flush(connection.context());
      }
    } finally {
      writing.set(false);
    }
    if (!parts.isEmpty()) {
      wake();
    }
  }

  private boolean write() {
    boolean any = false;
    for (Part part = parts.poll(); part != null; part = parts.poll()) {
      part.write();
      any = true;
    }
    return any;
  }

  /** Until {@link #readComplete} what is written waits. On the event loop. */
  void reading() {
    reading = true;
  }

  /** Writes what was gathered; whoever calls this flushes. On the event loop. */
  void readComplete() {
    reading = false;
    write();
  }

  /** Sends what is written, unless that is done after what was read. On the event loop. */
  void flushUnlessReading() {
    if (!reading) {
      connection.flush(connection.context());
    }
  }
}
