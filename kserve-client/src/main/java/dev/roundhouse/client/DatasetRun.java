package dev.roundhouse.client;

import dev.roundhouse.client.pool.BufferPool;
import dev.roundhouse.client.pool.Span;
import dev.roundhouse.client.tensor.Tensor;
import io.grpc.Status;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A running data set: one thread fills and sends chunks, as many as the window allows; the threads
 * that complete their futures place the answers.
 */
final class DatasetRun {
  private static final long ALIGNMENT = 64;
  private static final Duration EVER = Duration.ofNanos(Long.MAX_VALUE);

  /** Sends a request, and has its answer read. */
  @FunctionalInterface
  interface Sender {
    CompletableFuture<CallStats> send(InferRequest request, Function<Answer, CallStats> reader);
  }

  private final Dataset dataset;
  private final Sender sender;
  private final Map<String, Tensor> targets;

  /** Buffers for rows that are not in memory; null when all are. */
  private final @Nullable BufferPool pool;

  private final Semaphore window;
  private final Set<CompletableFuture<CallStats>> open = ConcurrentHashMap.newKeySet();

  // Under this object's lock.
  private final List<RowFailure> failures = new ArrayList<>();
  private int failedChunks;
  private long answeredRows;
  private long failedRows;
  private long chunks;
  private long attempts;
  private @Nullable RuntimeException thrown;

  DatasetRun(Dataset dataset, Sender sender) {
    this.dataset = dataset;
    this.sender = sender;
    targets = dataset.targets();
    window = new Semaphore(dataset.window());
    long staged = dataset.stagedBytes();
    // Collected with the last call that may still read it, so that none reads memory that is gone.
    pool =
        staged == 0
            ? null
            : BufferPool.allocate(
                Arena.ofAuto(), Math.multiplyExact(staged, dataset.window()), dataset.window());
  }

  DatasetResult run() throws InterruptedException {
    long rows = dataset.rows();
    try {
      for (long row = 0; row < rows; row += dataset.chunkRows()) {
        window.acquire();
        if (stopped()) {
          window.release();
          failed(
              row,
              rows - row,
              new KServeException(
                  Status.Code.ABORTED,
                  "not sent: %d chunks had failed".formatted(dataset.mostFailures()),
                  null,
                  null));
          break;
        }
        begin(row, Math.min(dataset.chunkRows(), rows - row));
      }
      window.acquire(dataset.window());
    } catch (InterruptedException e) {
      open.forEach(each -> each.cancel(true));
      throw e;
    }
    return result();
  }

  private synchronized boolean stopped() {
    return failedChunks >= dataset.mostFailures() || thrown != null;
  }

  /** Begins a chunk, which frees its place in the window when it ends. */
  private void begin(long firstRow, long rows) throws InterruptedException {
    Span span = null;
    CompletableFuture<CallStats> call;
    try {
      span = pool == null ? null : pool.acquire(1, EVER);
      InferRequest request = request(firstRow, rows, span);
      dataset.model.check(request);
      call = sender.send(request, answer -> place(answer, firstRow, rows));
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      end(firstRow, rows, span, null, e);
      return;
    }
    open.add(call);
    Span used = span;
    call.whenComplete(
        (stats, failure) -> {
          open.remove(call);
          end(firstRow, rows, used, stats, failure);
        });
  }

  private InferRequest request(long firstRow, long rows, @Nullable Span span) throws Exception {
    InferRequest.Builder request = InferRequest.to(dataset.model.name());
    for (Map.Entry<String, Dataset.Input> input : dataset.inputs.entrySet()) {
      request.input(
          input.getKey(),
          switch (input.getValue()) {
            case Dataset.Input.Whole(Tensor tensor) -> tensor.rows(firstRow, rows);
            case Dataset.Input.Staged staged ->
                fill(staged, firstRow, rows, Objects.requireNonNull(span));
          });
    }
    targets.keySet().forEach(request::output);
    Duration deadline = dataset.deadline();
    return (deadline == null ? request : request.deadline(deadline)).build();
  }

  private static Tensor fill(Dataset.Input.Staged staged, long firstRow, long rows, Span span)
      throws Exception {
    MemorySegment bytes = span.carve(staged.row().byteSize() * rows, ALIGNMENT);
    staged.source().fill(firstRow, rows, bytes);
    return Tensor.of(staged.row().dtype(), Dataset.withRows(staged.row().shape(), rows), bytes);
  }

  private CallStats place(Answer answer, long firstRow, long rows) {
    InferResult result = answer.view();
    targets.forEach(
        (name, target) -> {
          Tensor part = target.rows(firstRow, rows);
          Tensor output = result.outputs().get(name);
          if (output == null
              || output.dtype() != part.dtype()
              || !output.shape().equals(part.shape())) {
            throw new KServeException(
                Status.Code.INTERNAL,
                "output '%s' of '%s' is %s where %s was expected"
                    .formatted(
                        name, dataset.model.name(), output == null ? "missing" : output, part),
                null,
                answer.stats());
          }
          output.copyTo(part.sendable());
        });
    return answer.stats();
  }

  private void end(
      long firstRow,
      long rows,
      @Nullable Span span,
      @Nullable CallStats stats,
      @Nullable Throwable failure) {
    try {
      if (span != null) {
        span.close();
      }
      Throwable cause = failure instanceof CompletionException e ? e.getCause() : failure;
      synchronized (this) {
        chunks++;
        CallStats taken =
            cause instanceof KServeException refused && stats == null ? refused.stats() : stats;
        attempts += taken == null ? 0 : taken.attempts();
        if (cause == null) {
          answeredRows += rows;
        } else {
          failedChunks++;
          failed(firstRow, rows, cause);
        }
        tellProgress();
      }
    } finally {
      window.release();
    }
  }

  /** An exception from the listener is thrown to the thread that waits for the data set. */
  private synchronized void tellProgress() {
    try {
      dataset.progress().onRows(answeredRows, failedRows, dataset.rows());
    } catch (RuntimeException e) {
      thrown = e;
    }
  }

  private synchronized void failed(long firstRow, long rows, Throwable cause) {
    failures.add(new RowFailure(firstRow, rows, cause));
    failedRows += rows;
  }

  private synchronized DatasetResult result() {
    if (thrown != null) {
      throw thrown;
    }
    failures.sort(Comparator.comparingLong(RowFailure::firstRow));
    List<RowFailure> merged = new ArrayList<>();
    for (RowFailure next : failures) {
      RowFailure last = merged.isEmpty() ? null : merged.getLast();
      if (last != null
          && last.firstRow() + last.rows() == next.firstRow()
          && Objects.equals(last.cause().getMessage(), next.cause().getMessage())) {
        merged.removeLast();
        merged.add(new RowFailure(last.firstRow(), last.rows() + next.rows(), last.cause()));
      } else {
        merged.add(next);
      }
    }
    return new DatasetResult(
        Map.copyOf(targets), dataset.rows(), List.copyOf(merged), chunks, attempts);
  }
}
