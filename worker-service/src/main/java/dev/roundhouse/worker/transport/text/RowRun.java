package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Outcomes;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Some rows of a request, as one inference request. The one that submits it also awaits it. */
final class RowRun implements AnswerSink, AutoCloseable {
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final InferExchange exchange;
  private final int first;
  private final int rows;
  private final boolean alone;
  private final CompletableFuture<Outcome> end = new CompletableFuture<>();
  private volatile @Nullable Answer answer;
  private volatile @Nullable Submission submission;

  /**
   * @param alone true when nothing else of the request is under way yet
   */
  RowRun(InferExchange exchange, int first, int rows, boolean alone) {
    this.exchange = exchange;
    this.first = first;
    this.rows = rows;
    this.alone = alone;
  }

  /** The first of its rows. */
  int first() {
    return first;
  }

  void submitted(Submission by) {
    submission = by;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome outcome) {
    end.complete(outcome);
  }

  /** Any thread; harmless when repeated. */
  void cancel() {
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  /**
   * Waits for the end. True when there was no room for it while others of its request may have
   * taken some: it is to be made again.
   *
   * @param others whether any were begun after it: they may have come to the queue before it
   */
  boolean isCrowdedOut(boolean others) {
    Outcome outcome = end.join();
    return (others || !alone)
        && answer == null
        && Outcomes.failure(outcome).status() == WireStatus.RESOURCE_EXHAUSTED;
  }

  /**
   * Waits for the answer and copies it.
   *
   * @param numbers of all rows
   * @return tokens of these rows; 0 when they are not known
   * @throws WireException when there is no answer
   */
  long take(TextTask task, float[] numbers) {
    Outcome outcome = end.join();
    Answer made = answer;
    if (made == null) {
      throw Outcomes.failure(outcome);
    }
    MemorySegment result = data(made, task.result().name(), DType.F32, task.width());
    MemorySegment.copy(result, FLOAT, 0, numbers, first * task.width(), rows * task.width());
    return task.countsTokens() ? tokens(made) : 0;
  }

  private long tokens(Answer made) {
    for (OutputTensor output : made.outputs()) {
      if (output.name().equals(TextTask.TOKENS)) {
        MemorySegment counts = data(made, TextTask.TOKENS, output.dtype(), 1);
        long sum = 0;
        for (int row = 0; row < rows; row++) {
          sum +=
              output.dtype() == DType.I64
                  ? counts.getAtIndex(LONG, row)
                  : counts.getAtIndex(INT, row);
        }
        return sum;
      }
    }
    return 0;
  }

  private MemorySegment data(Answer made, String name, DType dtype, int width) {
    long expected = (long) rows * width * dtype.byteSize();
    for (OutputTensor output : made.outputs()) {
      if (output.name().equals(name) && output.dtype() == dtype) {
        if (output.data().byteSize() == expected) {
          return output.data();
        }
        throw new WireException(
            WireStatus.INTERNAL,
            "output '%s' has %d bytes for %d rows of %d numbers"
                .formatted(name, output.data().byteSize(), rows, width));
      }
    }
    throw new WireException(WireStatus.INTERNAL, "there is no output '" + name + "'");
  }

  /** Gives its memory back; when it has not ended, waits until it has. */
  @Override
  public void close() {
    if (submission != null) {
      end.join();
    }
    Answer made = answer;
    if (made != null) {
      made.close();
    }
    exchange.close();
  }
}
