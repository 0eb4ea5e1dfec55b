package dev.roundhouse.platform.telemetry;

import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the spans of requests that have ended to a collector, four times a second, on the thread
 * {@code spans}. Handing over never blocks and wakes nobody: when the queue is full, the request's
 * spans are dropped and counted. Thread-safe.
 */
final class SpanSender implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SpanSender.class);
  private static final long EVERY_MILLIS = 250;

  /** How long an application that stops waits for the last of them. */
  private static final long LAST_MILLIS = 2000;

  /** Spans of one message, and as many more as its last request has; a request's stay together. */
  private static final int MESSAGE_SPANS = 512;

  private final SpanExporter exporter;
  private final int mostWaiting;
  private final long timeoutMillis;
  private final ConcurrentLinkedQueue<EndedRequest> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder exported = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("spans").factory());

  // The thread's.
  private final SpanWriter writer;
  private final ArrayDeque<EndedRequest> together = new ArrayDeque<>();

  /**
   * @param mostWaiting requests in the queue
   * @param timeout of a message
   */
  SpanSender(SpanExporter exporter, SpanWriter writer, int mostWaiting, Duration timeout) {
    this.exporter = exporter;
    this.writer = writer;
    this.mostWaiting = mostWaiting;
    timeoutMillis = timeout.toMillis();
  }

  void start() {
    var unused =
        thread.scheduleWithFixedDelay(
            this::send, EVERY_MILLIS, EVERY_MILLIS, TimeUnit.MILLISECONDS);
  }

  void offer(EndedRequest request) {
    if (waiting.incrementAndGet() > mostWaiting) {
      waiting.decrementAndGet();
      dropped.increment();
      return;
    }
    ended.add(request);
  }

  long exported() {
    return exported.sum();
  }

  long dropped() {
    return dropped.sum();
  }

  @Override
  public void close() {
    thread.execute(this::send);
    thread.shutdown();
    try {
      if (!thread.awaitTermination(LAST_MILLIS, TimeUnit.MILLISECONDS)) {
        thread.shutdownNow();
      }
    } catch (InterruptedException e) {
      thread.shutdownNow();
      Thread.currentThread().interrupt();
    }
    exporter.shutdown().join(LAST_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Sends all that waits. */
  void send() {
    try {
      while (!together.isEmpty() || gather()) {
        sendMessage();
      }
    } catch (Throwable e) { // or the thread would never run again
      log.warn("spans could not be sent", e);
    }
  }

  /** Takes all that waits, for requests of one run are to know each other; false when none does. */
  private boolean gather() {
    SharedRuns runs = writer.runs();
    runs.clear();
    for (EndedRequest next = ended.poll(); next != null; next = ended.poll()) {
      together.add(next);
      next.join(runs);
    }
    return !together.isEmpty();
  }

  private void sendMessage() {
    int requests = 0;
    boolean isTaken = false;
    try {
      while (writer.count() < MESSAGE_SPANS) {
        EndedRequest request = together.poll();
        if (request == null) {
          break;
        }
        waiting.decrementAndGet();
        requests++;
        request.tell(writer);
      }
      // what goes wrong is logged by the exporter, a few lines a minute
      isTaken =
          exporter.export(writer.written()).join(timeoutMillis, TimeUnit.MILLISECONDS).isSuccess();
    } finally {
      writer.clear();
      (isTaken ? exported : dropped).add(requests);
    }
  }
}
