package dev.roundhouse.transport.http2;

import io.netty.util.internal.PlatformDependent;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Takes parts of answers from any thread to a connection's event loop, in order, and writes those
 * present together: one wake-up and one flush for all.
 */
final class GatheredWrites {
  private final PeerConnection connection;
  private final Queue<Part> parts = PlatformDependent.newMpscQueue();
  private final AtomicBoolean writing = new AtomicBoolean();

  /** A read is being handled: what is written meanwhile goes out after it. */
  private boolean reading;

  /** Part of an answer. */
  interface Part {
    /** On the event loop. */
    void write();

    /** Not written: the event loop has stopped. */
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

  /** Parts added during this write go out with it, without a wake-up. */
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

  /** Writes wait until {@link #readComplete}. On the event loop. */
  void reading() {
    reading = true;
  }

  /** Writes what was gathered; the caller flushes. On the event loop. */
  void readComplete() {
    reading = false;
    write();
  }

  /** Flushes, unless that follows the current read. On the event loop. */
  void flushUnlessReading() {
    if (!reading) {
      connection.flush(connection.context());
    }
  }
}
