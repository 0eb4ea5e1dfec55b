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
import org.jspecify.annotations.Nullable;

/** An answer in memory of the pool; its bytes are counted until it is closed. */
final class PooledAnswer implements Answer {
  private static final long ALIGNMENT = 64;

  // Memory that was given back twice would be two callers' answers at once: a sink that hands an
  // answer to another thread and then throws closes it on both.
  private static final VarHandle BLOCK;
  private static final VarHandle CLOSED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      BLOCK = lookup.findVarHandle(PooledAnswer.class, "block", AnswerPool.Block.class);
      CLOSED = lookup.findVarHandle(PooledAnswer.class, "closed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String modelVersion;
  private final List<OutputTensor> outputs;
  private final ByteBudget budget;
  private final long countedBytes;

  @SuppressWarnings("FieldMayBeFinal") // written through BLOCK
  private AnswerPool.@Nullable Block block;

  @SuppressWarnings("UnusedVariable") // read and written through CLOSED
  private boolean closed;

  private PooledAnswer(
      String modelVersion,
      List<OutputTensor> outputs,
      AnswerPool.@Nullable Block block,
      ByteBudget budget,
      long countedBytes) {
    this.modelVersion = modelVersion;
    this.outputs = outputs;
    this.block = block;
    this.budget = budget;
    this.countedBytes = countedBytes;
  }

  /** Memory for all rows of a request, not yet filled. */
  static PooledAnswer allocate(
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
      OutputTensor output =
          new OutputTensor(
              layout.spec().name(),
              layout.spec().dtype(),
              layout.shapeOf(request.rows()),
              memory.asSlice(offset, size));
      offset += align(size);
      if (count == 1) {
        first = output;
      } else {
        outputs.add(output);
      }
    }
    return new PooledAnswer(
        slot.lane().version(),
        first == null ? outputs : List.of(first),
        block,
        budget,
        request.answerBytes());
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
    AnswerPool.Block held = (AnswerPool.Block) BLOCK.getAndSet(this, null);
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
