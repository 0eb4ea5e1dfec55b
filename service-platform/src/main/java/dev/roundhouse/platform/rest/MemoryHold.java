package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;

/**
 * What one HTTP request holds of the memory for requests beside what admission counts: its body and
 * what is made of it until it is submitted, and what must be written in one piece. For one thread
 * at a time.
 */
public final class MemoryHold implements AutoCloseable {
  private final MemoryBudget budget;
  private long held;

  public MemoryHold(MemoryBudget budget) {
    this.budget = budget;
  }

  /**
   * Of what a client's connection may have.
   *
   * @param kind what the memory is for
   */
  public MemoryHold(ConnectionMemory connection, Kept kind) {
    this(connection.of(kind));
  }

  /**
   * Takes bytes that are about to be allocated.
   *
   * @throws WireException RESOURCE_EXHAUSTED when the budget does not allow it
   */
  public void take(long bytes) {
    String refusal = budget.take(bytes);
    if (refusal != null) {
      throw new WireException(WireStatus.RESOURCE_EXHAUSTED, refusal);
    }
    held += bytes;
  }

  /** Counts bytes as its own that have been taken already. */
  public void adopt(long bytes) {
    held += bytes;
  }

  public void giveBack(long bytes) {
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
