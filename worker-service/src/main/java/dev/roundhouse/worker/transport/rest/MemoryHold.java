package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;

/**
 * What one HTTP request holds of the engine's budget beside what admission counts: its body and
 * what is made of it until it is submitted, and what must be written in one piece. For one thread
 * at a time.
 */
final class MemoryHold implements AutoCloseable {
  private final Engine engine;
  private long held;

  MemoryHold(Engine engine) {
    this.engine = engine;
  }

  /**
   * Takes bytes that are about to be allocated.
   *
   * @throws WireException RESOURCE_EXHAUSTED when the budget does not allow it
   */
  void take(long bytes) {
    if (!engine.takeBytes(bytes)) {
      throw new WireException(
          WireStatus.RESOURCE_EXHAUSTED,
          "Exceeds maximum queue size: requests hold %d bytes, this one holds %d of them and needs %d more, and the limit is %d; retry later, send less per request or raise roundhouse.worker.scheduler.max-queued-bytes"
              .formatted(engine.heldBytes(), held, bytes, engine.maxHeldBytes()));
    }
    held += bytes;
  }

  /** Counts bytes as its own that have been taken already. */
  void adopt(long bytes) {
    held += bytes;
  }

  void giveBack(long bytes) {
    held -= bytes;
    engine.giveBackBytes(bytes);
  }

  /** Gives back whatever is held. */
  @Override
  public void close() {
    giveBack(held);
  }
}
