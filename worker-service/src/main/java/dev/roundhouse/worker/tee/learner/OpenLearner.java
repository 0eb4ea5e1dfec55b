package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.worker.tee.Batch;
import dev.roundhouse.worker.tee.BatchReader;
import dev.roundhouse.worker.tee.TeeSpec;
import dev.roundhouse.worker.tee.learner.LearnerLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A learner after its hello: batches go out as they become full, so many unacknowledged at most. A
 * batch's place is free when it is acknowledged; its memory is let go when it is written, too. On
 * the connection's event loop.
 */
final class OpenLearner {
  private static final int LOOKS = 4;

  private final LearnerConnection connection;
  private final BatchReader reader;
  private final int window;
  private final long acknowledgeNanos;
  private final Deque<Sent> unacknowledged = new ArrayDeque<>();
  private TeeSpec spec;
  private long sent;

  /** Of an acknowledgement that has come in part. */
  private long begun;

  private int begunBytes;

  /** When there was last something to acknowledge, or it was. */
  private long progressNanos = System.nanoTime();

  /** The next look at what is acknowledged; null while nothing is to be. */
  private @Nullable Future<?> watch;

  private boolean stopped;

  private record Sent(Batch batch, ChannelFuture written) {}

  /**
   * @param reader given away
   */
  OpenLearner(LearnerConnection connection, BatchReader reader, TeeSpec spec, int window) {
    this.connection = connection;
    this.reader = reader;
    this.spec = spec;
    this.window = window;
    acknowledgeNanos = connection.server().settings().acknowledgeTimeout().toNanos();
  }

  /** Writes what there is, as far as the window goes. */
  void pump() {
    while (!stopped && unacknowledged.size() < window) {
      Batch batch = reader.next();
      if (batch == null) {
        String refusal = reader.refusal();
        if (refusal != null && unacknowledged.isEmpty()) {
          connection.end(End.REPLACED, "there are no more batches: " + refusal);
        }
        return;
      }
      send(batch);
    }
  }

  private void send(Batch batch) {
    if (batch.spec() != spec && !follow(batch.spec())) {
      batch.close();
      return;
    }
    if (unacknowledged.isEmpty()) {
      progressNanos = System.nanoTime();
    }
    unacknowledged.add(new Sent(batch, connection.channel().write(frame(batch))));
    sent++;
    watch();
  }

  /** Lets go of a batch that cannot be sent. */
  private ByteBuf frame(Batch batch) {
    try {
      return LearnerFrames.batch(batch, sent);
    } catch (RuntimeException | Error e) {
      batch.close();
      throw e;
    }
  }

  /** False when the batches of now are not those of before: then the connection ends. */
  private boolean follow(TeeSpec next) {
    if (next.batch().equals(spec.batch())) {
      spec = next;
      connection.channel().write(LearnerFrames.replaced(next));
      return true;
    }
    connection.end(
        End.REPLACED,
        "model '%s' was replaced by one with other tensors: %s; connect again"
            .formatted(
                next.model(),
                next.batch().differenceTo(spec.batch(), "the one before", next.model())));
    return false;
  }

  // --- acknowledgements

  /**
   * @param read borrowed
   */
  void read(ByteBuf read) {
    while (read.isReadable() && !stopped) {
      begun |= (read.readByte() & 0xffL) << 8 * begunBytes;
      if (++begunBytes == Long.BYTES) {
        long number = begun;
        begun = 0;
        begunBytes = 0;
        acknowledged(number);
      }
    }
    connection.wake();
  }

  private void acknowledged(long number) {
    long first = sent - unacknowledged.size();
    if (number < first || number >= sent) {
      connection.end(
          End.PROTOCOL,
          "batch %s is acknowledged, and %s"
              .formatted(
                  Long.toUnsignedString(number),
                  unacknowledged.isEmpty()
                      ? "none is to be"
                      : "batches %d to %d are to be".formatted(first, sent - 1)));
      return;
    }
    for (long each = first; each <= number; each++) {
      Sent oldest = unacknowledged.element();
      if (!oldest.written().isDone()) {
        connection.end(
            End.PROTOCOL, "batch %d is acknowledged before it was sent whole".formatted(each));
        return;
      }
      unacknowledged.remove();
      oldest.batch().done();
      oldest.batch().close();
    }
    progressNanos = System.nanoTime();
  }

  private void watch() {
    if (watch == null) {
      watch = connection.after(Math.max(1, acknowledgeNanos / LOOKS), this::look);
    }
  }

  private void look() {
    watch = null;
    if (stopped || unacknowledged.isEmpty()) {
      return;
    }
    if (System.nanoTime() - progressNanos > acknowledgeNanos) {
      connection.end(
          End.UNACKNOWLEDGED,
          "batch %d was not acknowledged within roundhouse.worker.tee.acknowledge-timeout, %d ms"
              .formatted(
                  sent - unacknowledged.size(), TimeUnit.NANOSECONDS.toMillis(acknowledgeNanos)));
      return;
    }
    watch();
  }

  /** Reads no more. Memory that is still being written is let go then. Harmless when repeated. */
  void stop() {
    if (stopped) {
      return;
    }
    stopped = true;
    if (watch != null) {
      watch.cancel(false);
    }
    reader.close();
    for (Sent each : unacknowledged) {
      each.written().addListener(over -> each.batch().close());
    }
    unacknowledged.clear();
  }
}
