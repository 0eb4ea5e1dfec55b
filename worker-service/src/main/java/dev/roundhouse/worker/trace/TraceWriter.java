package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.observe.LogThrottle;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes traces to files on the thread {@code trace}, which starts when the first request may be
 * traced. Handing over a trace never blocks: when the queue is full, it is dropped and counted.
 * Thread-safe.
 */
final class TraceWriter implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TraceWriter.class);
  private static final long EVERY_MILLIS = 100;

  /** Characters of text buffered for one write; only traces with large tensors exceed it. */
  private static final int MOST_CHARS = 1 << 20;

  /** Traces that may wait: about 4 MB without tensors, which are counted elsewhere. */
  static final int CAPACITY = 1 << 14;

  private final TensorCopies copies;
  private final LogThrottle trouble = new LogThrottle(log);
  private final ConcurrentLinkedQueue<Trace> traces = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder written = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private @Nullable ScheduledExecutorService thread;

  // Owned by the thread.
  private final Map<String, Part> parts = new HashMap<>();
  private final TraceFiles files;
  private boolean saidThatItIsFull;

  /**
   * @param path of the file; numbered files add a dot and a number
   * @param copies where the tensors of traces are counted
   * @param mostFiles numbered ones; the oldest is replaced
   * @param mostBytes of all files together; the oldest numbered one is removed to make room, and
   *     traces that still have none are dropped
   */
  TraceWriter(Path path, TensorCopies copies, int mostFiles, long mostBytes) {
    files = new TraceFiles(path, mostFiles, mostBytes);
    this.copies = copies;
  }

  /** Starts the thread if it does not run yet. */
  synchronized void start() {
    if (thread == null) {
      thread =
          Executors.newSingleThreadScheduledExecutor(
              Thread.ofPlatform().daemon().name("trace").factory());
      thread.scheduleWithFixedDelay(this::drain, EVERY_MILLIS, EVERY_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /** Queues a trace, or drops it. Never blocks. */
  void offer(Trace trace) {
    if (waiting.incrementAndGet() > CAPACITY) {
      waiting.decrementAndGet();
      copies.giveBack(trace.tensors());
      dropped.increment();
      return;
    }
    traces.add(trace);
  }

  /** Traces written to files. */
  long written() {
    return written.sum();
  }

  /** Traces that were lost: too many came at once, or they could not be written. */
  long dropped() {
    return dropped.sum();
  }

  /** Writes what is queued, and accepts no more. */
  @Override
  public synchronized void close() {
    ScheduledExecutorService writing = thread;
    if (writing != null) {
      writing.execute(this::drain);
      writing.close();
    }
  }

  private void drain() {
    try {
      for (Trace trace = traces.poll(); trace != null; trace = traces.poll()) {
        waiting.decrementAndGet();
        try {
          write(trace);
        } finally {
          copies.giveBack(trace.tensors());
        }
      }
      parts.values().forEach(this::flush);
    } catch (RuntimeException | Error e) {
      trouble.warn("traces could not be written", e); // or the thread would never run again
    }
  }

  /** Adds a trace to its file's buffer, which is written when it is full. */
  private void write(Trace trace) {
    int frequency = trace.sampler().setting().logFrequency();
    String key = frequency == 0 ? "" : frequency + " " + trace.sampler().owner();
    Part part = parts.get(key);
    if (part == null) {
      part = new Part(new TraceFile(frequency == 0 ? files.single() : next()));
      parts.put(key, part);
    }
    part.text.append(part.count == 0 ? "" : ",\n").append(TraceJson.of(trace));
    part.count++;
    if (frequency > 0 && part.file.traces() + part.count >= frequency) {
      flush(part);
      parts.remove(key);
    } else if (part.text.length() > MOST_CHARS) {
      flush(part);
    }
  }

  private Path next() {
    Path file = files.next();
    for (Part part : List.copyOf(parts.values())) {
      if (part.file.path().equals(file)) { // never filled, and now the oldest
        dropped.add(part.count);
        parts.values().remove(part);
      }
    }
    return file;
  }

  private void flush(Part part) {
    if (part.count == 0) {
      return;
    }
    try {
      if (files.makeRoom(part.file.path(), part.text.length())) {
        part.file.append(part.text.toString(), part.count);
        files.written(part.file.path(), part.file.size());
        written.add(part.count);
      } else {
        dropped.add(part.count);
        sayThatItIsFull(part.file);
      }
    } catch (IOException e) {
      dropped.add(part.count);
      trouble.warn("traces could not be written to " + part.file.path() + ": " + e);
    }
    part.text.setLength(0);
    part.count = 0;
  }

  /** Once, because nothing changes until the worker restarts. */
  private void sayThatItIsFull(TraceFile file) {
    if (!saidThatItIsFull) {
      saidThatItIsFull = true;
      log.warn(
          "traces are dropped from now on: {} has {} bytes, and all files of traces may have"
              + " roundhouse.worker.trace.max-bytes together; raise it, or set log_frequency, with"
              + " which the oldest traces make room",
          file.path(),
          file.size());
    }
  }

  /** A file and the traces that are not written yet. */
  private static final class Part {
    final TraceFile file;
    final StringBuilder text = new StringBuilder();
    int count;

    Part(TraceFile file) {
      this.file = file;
    }
  }
}
