package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An answer whose bytes are counted until it is closed: in memory of the pool or, where a run's
 * outputs are exactly this answer and the host can read them, in place.
 */
final class CountedAnswer implements Answer {
  private static final long ALIGNMENT = 64;

  // Memory given back twice would hold two callers' answers at once: a sink that hands an answer to
  // another thread and then throws closes it on both.
  private static final VarHandle MEMORY;
  private static final VarHandle CLOSED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      MEMORY = lookup.findVarHandle(CountedAnswer.class, "memory", AnswerMemory.class);
      CLOSED = lookup.findVarHandle(CountedAnswer.class, "closed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String modelVersion;
  private final List<OutputTensor> outputs;
  private final ByteBudget budget;
  private final long countedBytes;

  @SuppressWarnings("FieldMayBeFinal") // written through MEMORY
  private @Nullable AnswerMemory memory;

  @SuppressWarnings("UnusedVariable") // read and written through CLOSED
  private boolean closed;

  private CountedAnswer(
      String modelVersion,
      List<OutputTensor> outputs,
      @Nullable AnswerMemory memory,
      ByteBudget budget,
      long countedBytes) {
    this.modelVersion = modelVersion;
    this.outputs = outputs;
    this.memory = memory;
    this.budget = budget;
    this.countedBytes = countedBytes;
  }

  /** Memory for all rows of a request, not yet filled. */
  static CountedAnswer allocate(
      AnswerPool pool, ByteBudget budget, BatchSlot slot, QueuedRequest request) {
    ProgramLayout program = slot.program().layout();
    int count = count(request, program);
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      bytes += align(program.output(index(request, i)).bytesOf(request.rows()));
    }
    AnswerPool.Block block = bytes == 0 ? null : pool.take(bytes);
    MemorySegment memory = block == null ? MemorySegment.NULL : block.memory();
    OutputTensor first = null;
    List<OutputTensor> outputs = count == 1 ? List.of() : new ArrayList<>(count);
    long offset = 0;
    for (int i = 0; i < count; i++) {
      RowLayout layout = program.output(index(request, i));
      long size = layout.bytesOf(request.rows());
      OutputTensor output = output(layout, request, memory.asSlice(offset, size));
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
        request.answerBytes());
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
    List<OutputTensor> outputs = new ArrayList<>(program.outputCount());
    for (int i = 0; i < program.outputCount(); i++) {
      // a sequence's state comes last, wherever it is in the program
      int output = index(request, i);
      Optional<MemorySegment> data = slot.execution().output(output).view();
      if (data.isEmpty()) {
        return null;
      }
      outputs.add(output(program.output(output), request, data.get()));
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

  private static OutputTensor output(RowLayout layout, QueuedRequest request, MemorySegment data) {
    return new OutputTensor(
        layout.spec().name(), layout.spec().dtype(), layout.shapeOf(request.rows()), data);
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

  @Override
  public String modelVersion() {
    return modelVersion;
  }

  @Override
  public List<OutputTensor> outputs() {
    return outputs;
  }

  @Override
  public void free() {
    AnswerMemory held = (AnswerMemory) MEMORY.getAndSet(this, null);
    if (held != null) {
      held.giveBack();
    }
  }

  @Override
  public void close() {
    free();
    if (CLOSED.compareAndSet(this, false, true)) {
      budget.giveBack(countedBytes);
    }
  }

  private static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}
