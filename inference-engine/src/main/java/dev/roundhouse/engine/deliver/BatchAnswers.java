package dev.roundhouse.engine.deliver;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.layout.PartialRows;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.layout.TrimmedAxes;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.CountedAnswer;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.state.CarriedState;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Answers to members of a batch: in memory of the pool or, where a run's outputs are exactly one
 * answer and the host can read them, in place.
 */
final class BatchAnswers {
  private static final long ALIGNMENT = 64;

  private BatchAnswers() {}

  /** Memory for all rows of a request, not yet filled. */
  static CountedAnswer allocate(
      AnswerPool pool, ByteBudget budget, BatchSlot slot, QueuedRequest request) {
    ProgramLayout program = slot.program().layout();
    int count = count(request, program) - taken(slot);
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      bytes += align(byteSize(program, index(request, i), request));
    }
    AnswerPool.Block block = bytes == 0 ? null : pool.take(bytes);
    MemorySegment memory = block == null ? MemorySegment.NULL : block.memory();
    OutputTensor first = null;
    List<OutputTensor> outputs = count == 1 ? List.of() : new ArrayList<>(count);
    long offset = 0;
    for (int i = 0; i < count; i++) {
      int index = index(request, i);
      long size = byteSize(program, index, request);
      OutputTensor output = output(program, index, request, memory.asSlice(offset, size));
      offset += align(size);
      if (count == 1) {
        first = output;
      } else {
        outputs.add(output);
      }
    }
    return new CountedAnswer(
        slot.lane().version(),
        first == null ? outputs : List.of(first),
        block,
        budget,
        request.answerBytes(),
        request.takeHanded());
  }

  /**
   * The outputs of a run as they lie, when all of them are the answer to one request and the device
   * lets the host read them there. The answer takes the run from the slot then.
   *
   * @return null when the outputs are to be copied
   */
  static @Nullable CountedAnswer inPlace(
      LentRuns lent, ByteBudget budget, BatchSlot slot, QueuedRequest request) {
    ProgramLayout program = slot.program().layout();
    if (slot.size() != 1
        || slot.rowCount(0) != slot.program().batchSize()
        || count(request, program) != program.outputCount()) {
      return null; // more would be held than was counted
    }
    int count = program.outputCount() - taken(slot);
    List<OutputTensor> outputs = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      // a sequence's state comes last, wherever it is in the program
      int output = index(request, i);
      Optional<MemorySegment> data = slot.execution().output(output).view();
      if (data.isEmpty() || data.get().byteSize() != byteSize(program, output, request)) {
        return null;
      }
      outputs.add(output(program, output, request, data.get()));
    }
    CountedAnswer answer =
        new CountedAnswer(
            slot.lane().version(),
            outputs,
            lent.lend(slot.execution()),
            budget,
            request.answerBytes());
    slot.letGoOfRun();
    return answer;
  }

  private static OutputTensor output(
      ProgramLayout program, int index, QueuedRequest request, MemorySegment data) {
    RowLayout layout = program.output(index);
    return new OutputTensor(
        layout.spec().name(), layout.spec().dtype(), shape(program, index, request), data);
  }

  private static Shape shape(ProgramLayout program, int output, QueuedRequest request) {
    Shape whole = program.output(output).shapeOf(request.rows());
    TrimmedAxes trimmed = program.trimmed(output);
    return trimmed == null
        ? whole
        : trimmed.shape(whole, input -> request.inputs().get(input).shape());
  }

  private static long byteSize(ProgramLayout program, int output, QueuedRequest request) {
    RowLayout layout = program.output(output);
    PartialRows partial = layout.partial();
    return partial == null
        ? layout.bytesOf(request.rows())
        : (layout.batched() ? request.rows() : 1) * partial.bytes(shape(program, output, request));
  }

  /** How many of a request's outputs, its last, were taken out of the run as state. */
  private static int taken(BatchSlot slot) {
    CarriedState carried = slot.carried();
    return carried != null && carried.hasTaken() ? carried.count() : 0;
  }

  /** How many outputs a request wants. */
  private static int count(QueuedRequest request, ProgramLayout program) {
    int[] wanted = request.outputs();
    return wanted == null ? program.outputCount() : wanted.length;
  }

  /** Which output of the program is at a position of the answer. */
  static int index(QueuedRequest request, int position) {
    int[] wanted = request.outputs();
    return wanted == null ? position : wanted[position];
  }

  private static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}
