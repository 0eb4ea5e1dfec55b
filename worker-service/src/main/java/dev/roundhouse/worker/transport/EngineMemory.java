package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.transport.memory.MemoryRoot;

/** The engine's budget, from which all memory of clients is taken. Thread-safe. */
public final class EngineMemory implements MemoryRoot {
  private final Engine engine;

  public EngineMemory(Engine engine) {
    this.engine = engine;
  }

  @Override
  public boolean take(long bytes) {
    return engine.takeBytes(bytes);
  }

  @Override
  public void takeAnyway(long bytes) {
    engine.takeBytesAnyway(bytes);
  }

  @Override
  public void giveBack(long bytes) {
    engine.giveBackBytes(bytes);
  }

  @Override
  public long held() {
    return engine.heldBytes();
  }

  @Override
  public long limit() {
    return engine.maxHeldBytes();
  }

  @Override
  public String refusal(long bytes) {
    return "Exceeds maximum queue size: requests hold %d bytes, this one needs %d more to be received, and the limit is %d; retry later, send less per request or %s"
        .formatted(held(), bytes, limit(), remedy());
  }

  @Override
  public String remedy() {
    return "raise roundhouse.worker.scheduler.max-queued-bytes";
  }
}
