package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.memory.MemoryBudget;
import dev.roundhouse.worker.transport.EngineMemory;
import org.jspecify.annotations.Nullable;

/** The engine's memory for requests, of a client whose connection nobody counts. */
final class EngineBudget implements MemoryBudget {
  private final EngineMemory memory;

  private EngineBudget(EngineMemory memory) {
    this.memory = memory;
  }

  static MemoryHold hold(Engine engine) {
    return new MemoryHold(new EngineBudget(new EngineMemory(engine)));
  }

  @Override
  public @Nullable String take(long bytes) {
    return memory.take(bytes) ? null : memory.refusal(bytes);
  }

  @Override
  public void giveBack(long bytes) {
    memory.giveBack(bytes);
  }
}
