package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Gives the members of a batch that has run what is theirs. Owned by the dispatch thread. */
final class BatchDelivery {
  private final Endings endings;
  private final NanoClock clock;

  @SuppressWarnings({"unchecked", "rawtypes"})
  private @Nullable List<OutputTensor>[] answers = new @Nullable List[16];

  BatchDelivery(Endings endings, NanoClock clock) {
    this.endings = endings;
    this.clock = clock;
  }

  /** Counts a batch that ran, cuts its outputs apart and answers its members. */
  void deliver(Batch batch) {
    count(batch);
    if (answers.length < batch.size()) {
      answers = Arrays.copyOf(answers, batch.size());
    }
    int row = 0;
    for (int member = 0; member < batch.size(); member++) {
      answers[member] = gather(batch, member, row);
      row += batch.rowCount(member);
    }
    long outputNanos = clock.nanoTime() - batch.endedNanos();
    for (int member = 0; member < batch.size(); member++) {
      List<OutputTensor> answer = answers[member];
      answers[member] = null;
      if (answer != null) {
        answer(batch, member, answer, outputNanos);
      }
    }
  }

  /** Tells every member why it was not answered. */
  void fail(Batch batch, RuntimeException cause) {
    ModelLane lane = batch.lane();
    Outcome.Failed outcome = Failures.outcome(lane.model().name(), cause);
    for (int member = 0; member < batch.size(); member++) {
      endings.failed(lane, batch.request(member), outcome);
    }
  }

  private static void count(Batch batch) {
    ModelCounters counters = batch.lane().counters();
    counters.addOnDispatch(Metric.EXECUTIONS, 1);
    counters.addOnDispatch(Metric.ROWS, batch.rows());
    counters.addOnDispatch(Metric.PADDING_ROWS, batch.paddingRows());
    counters.addOnDispatch(Metric.COMPUTE, batch.computeNanos());
    batch.program().tally().ran(batch.rows());
  }

  /** The member's outputs; null when it is over, or has rows that are still to run. */
  private @Nullable List<OutputTensor> gather(Batch batch, int member, int batchRow) {
    InferenceRequest request = batch.request(member);
    ModelLane lane = batch.lane();
    if (request.isCancelRequested()) {
      endings.cancelled(lane, request);
      return null;
    }
    try {
      if (batch.isWhole(member)) {
        return Answers.whole(batch, member, batchRow);
      }
      PiecewiseAnswer pieces = lane.pieces(request);
      pieces.gather(batch, member, batchRow);
      return batch.isLast(member) ? pieces.tensors(batch, member) : null;
    } catch (RuntimeException e) {
      // One request's trouble, such as an answer too large for an array, is not its batch-mates'.
      endings.failed(lane, request, Failures.outcome(lane.model().name(), e));
      return null;
    }
  }

  private void answer(Batch batch, int member, List<OutputTensor> outputs, long outputNanos) {
    InferenceRequest request = batch.request(member);
    ModelLane lane = batch.lane();
    Outcome.Timings timings = timings(batch, member, outputNanos);
    lane.counters().addOnDispatch(Metric.QUEUE_WAIT, timings.queueNanos());
    endings.completed(lane, request, new Outcome.Completed(lane.version(), outputs, timings));
  }

  private static Outcome.Timings timings(Batch batch, int member, long outputNanos) {
    InferenceRequest request = batch.request(member);
    if (batch.isWhole(member)) {
      return new Outcome.Timings(
          batch.assembledNanos() - request.arrivalNanos(),
          batch.inputNanos(),
          batch.computeNanos(),
          outputNanos,
          batch.rows());
    }
    PiecewiseAnswer pieces = batch.lane().pieces(request);
    return new Outcome.Timings(
        pieces.queueNanos(), pieces.inputNanos(), pieces.computeNanos(), outputNanos, batch.rows());
  }
}
