package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The outputs of a request that runs piece by piece, while they come in from batch after batch.
 * Owned by the dispatch thread.
 */
final class PiecewiseAnswer {
  private final List<MemorySegment> outputs = new ArrayList<>();
  private final long queueNanos;
  private long inputNanos;
  private long computeNanos;

  /**
   * @param queueNanos how long the request waited before its first rows ran
   */
  PiecewiseAnswer(long queueNanos) {
    this.queueNanos = queueNanos;
  }

  /** Takes a piece out of a batch that has run. */
  void gather(Batch batch, int member, int batchRow) {
    inputNanos += batch.inputNanos();
    computeNanos += batch.computeNanos();
    InferenceRequest request = batch.request(member);
    for (int i = 0; i < Answers.count(request, batch.program().layout()); i++) {
      int output = Answers.index(request, i);
      if (batch.firstRow(member) == 0) {
        outputs.add(Answers.allocate(batch, member, output));
      }
      Answers.copy(batch, member, batchRow, output, outputs.get(i));
    }
  }

  /** The outputs, once the last piece, which {@code member} is, has been gathered. */
  List<OutputTensor> tensors(Batch batch, int member) {
    InferenceRequest request = batch.request(member);
    List<OutputTensor> tensors = new ArrayList<>(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      tensors.add(Answers.tensor(batch, member, Answers.index(request, i), outputs.get(i)));
    }
    return tensors;
  }

  long queueNanos() {
    return queueNanos;
  }

  long inputNanos() {
    return inputNanos;
  }

  long computeNanos() {
    return computeNanos;
  }
}
