package dev.roundhouse.engine.model;

import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** An answer that lies in the memory of others. */
final class ComposedAnswer implements Answer {
  private final String modelVersion;
  private final List<OutputTensor> outputs;
  private final List<Answer> memory;
  private final Accounting accounting;
  private final long countedBytes;
  private final AtomicBoolean closed = new AtomicBoolean();

  ComposedAnswer(
      String modelVersion,
      List<OutputTensor> outputs,
      List<Answer> memory,
      Accounting accounting,
      long countedBytes) {
    this.modelVersion = modelVersion;
    this.outputs = List.copyOf(outputs);
    this.memory = List.copyOf(memory);
    this.accounting = accounting;
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

  /** What others counted for it is given back with the memory; its own bytes stay counted. */
  @Override
  public void free() {
    memory.forEach(Answer::close);
  }

  @Override
  public void close() {
    free();
    if (closed.compareAndSet(false, true)) {
      accounting.bytes().giveBack(countedBytes);
    }
  }
}
