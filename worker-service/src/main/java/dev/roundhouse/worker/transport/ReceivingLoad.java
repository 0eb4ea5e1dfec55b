package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.grpc.memory.MemoryBudget;
import dev.roundhouse.platform.grpc.PortLoad;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What a port has open at the moment; and counts the requests that it is receiving where the engine
 * counts memory. Thread-safe.
 */
public final class ReceivingLoad extends PortLoad implements MemoryBudget {
  private final Engine engine;
  private final AtomicLong receivingBytes = new AtomicLong();

  public ReceivingLoad(Engine engine) {
    this.engine = engine;
  }

  /** Of requests that have begun to arrive and have not been taken by the engine. */
  public long receivingBytes() {
    return receivingBytes.get();
  }

  @Override
  public @Nullable String take(long bytes) {
    if (engine.takeBytes(bytes)) {
      receivingBytes.addAndGet(bytes);
      return null;
    }
    return "Exceeds maximum queue size: requests hold %d bytes, this one needs %d more to be received, and the limit is %d; retry later, send less per request or raise roundhouse.worker.scheduler.max-queued-bytes"
        .formatted(engine.heldBytes(), bytes, engine.maxHeldBytes());
  }

  /** Bytes that were taken are counted as the engine's from here on, by whoever gives them back. */
  public void handOver(long bytes) {
    receivingBytes.addAndGet(-bytes);
  }

  @Override
  public void giveBack(long bytes) {
    receivingBytes.addAndGet(-bytes);
    engine.giveBackBytes(bytes);
  }
}
