package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.state.HandedTensor;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An answer whose bytes are counted until it is closed. */
public final class CountedAnswer implements Answer {
  // Memory given back twice would hold two callers' answers at once: a sink that hands an answer to
  // another thread and then throws closes it on both.
  private static final VarHandle MEMORY;
  private static final VarHandle CLOSED;
  private static final VarHandle HANDED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      MEMORY = lookup.findVarHandle(CountedAnswer.class, "memory", AnswerMemory.class);
      CLOSED = lookup.findVarHandle(CountedAnswer.class, "closed", boolean.class);
      HANDED = lookup.findVarHandle(CountedAnswer.class, "handed", List.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String modelVersion;
  private final List<OutputTensor> outputs;
  private final ByteBudget budget;
  private final long countedBytes;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written through HANDED
  private List<InputTensor> handed;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written through MEMORY
  private @Nullable AnswerMemory memory;

  @SuppressWarnings("UnusedVariable") // read and written through CLOSED
  private boolean closed;

  /**
   * @param outputs not copied
   * @param memory they lie in; null when they have none
   * @param countedBytes that {@code budget} counts for it already
   */
  public CountedAnswer(
      String modelVersion,
      List<OutputTensor> outputs,
      @Nullable AnswerMemory memory,
      ByteBudget budget,
      long countedBytes) {
    this(modelVersion, outputs, memory, budget, countedBytes, List.of());
  }

  /**
   * @param handed on the device; taken
   */
  public CountedAnswer(
      String modelVersion,
      List<OutputTensor> outputs,
      @Nullable AnswerMemory memory,
      ByteBudget budget,
      long countedBytes,
      List<InputTensor> handed) {
    this.handed = handed;
    this.modelVersion = modelVersion;
    this.outputs = outputs;
    this.memory = memory;
    this.budget = budget;
    this.countedBytes = countedBytes;
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
  public List<InputTensor> handed() {
    return handed;
  }

  @Override
  @SuppressWarnings("unchecked") // the field's own type
  public void freeHanded() {
    if (!handed.isEmpty()) {
      HandedTensor.release((List<InputTensor>) HANDED.getAndSet(this, List.of()));
    }
  }

  @Override
  public void free() {
    freeHanded();
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
}
