package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import dev.roundhouse.worker.transport.EngineMemory;
import org.jspecify.annotations.Nullable;

/**
 * What one HTTP request holds of the memory for requests beside what admission counts: its body and
 * what is made of it until it is submitted, and what must be written in one piece. For one thread
 * at a time.
 */
final class MemoryHold implements AutoCloseable {
  private final MemoryBudget budget;
  private long held;

  private MemoryHold(MemoryBudget budget) {
    this.budget = budget;
  }

  /** Of the engine's budget alone, for a request whose connection is not known. */
  MemoryHold(Engine engine) {
    this(budget(engine));
  }

  /**
   * Of the engine's budget and of its client's share of it.
   *
   * @param kind what the memory is for
   */
  MemoryHold(ConnectionMemory connection, Kept kind) {
    this(connection.of(kind));
  }

  private static MemoryBudget budget(Engine engine) {
    EngineMemory memory = new EngineMemory(engine);
    return new MemoryBudget() {
      @Override
      public @Nullable String take(long bytes) {
        return memory.take(bytes) ? null : memory.refusal(bytes);
      }

      @Override
      public void giveBack(long bytes) {
        memory.giveBack(bytes);
      }
    };
  }

  /**
   * Takes bytes that are about to be allocated.
   *
   * @throws WireException RESOURCE_EXHAUSTED when the budget does not allow it
   */
  void take(long bytes) {
    String refusal = budget.take(bytes);
    if (refusal != null) {
      throw new WireException(WireStatus.RESOURCE_EXHAUSTED, refusal);
    }
    held += bytes;
  }

  /** Counts bytes as its own that have been taken already. */
  void adopt(long bytes) {
    held += bytes;
  }

  void giveBack(long bytes) {
    held -= bytes;
    budget.giveBack(bytes);
  }

  /** Gives back whatever is held. */
  @Override
  public void close() {
    if (held != 0) {
      giveBack(held);
    }
  }
}
