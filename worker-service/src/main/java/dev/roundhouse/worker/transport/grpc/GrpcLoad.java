package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.grpc.LoadListener;
import dev.roundhouse.grpc.MemoryBudget;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What the gRPC server has open at the moment; and counts the messages that it is receiving where
 * the engine counts memory. Thread-safe.
 */
public final class GrpcLoad implements LoadListener, MemoryBudget {
  private final Engine engine;
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicLong receivingBytes = new AtomicLong();
  private final AtomicLong stalled = new AtomicLong();

  public GrpcLoad(Engine engine) {
    this.engine = engine;
  }

  /** Those in their handshake included. */
  public int connections() {
    return connections.get();
  }

  public int calls() {
    return calls.get();
  }

  /** Of messages that have begun to arrive and have not been taken by the engine. */
  public long receivingBytes() {
    return receivingBytes.get();
  }

  /** Calls and connections that were ended because their client stopped sending or reading. */
  public long stalledEver() {
    return stalled.get();
  }

  @Override
  public void connectionOpened() {
    connections.incrementAndGet();
  }

  @Override
  public void connectionClosed() {
    connections.decrementAndGet();
  }

  @Override
  public void callOpened() {
    calls.incrementAndGet();
  }

  @Override
  public void callClosed() {
    calls.decrementAndGet();
  }

  @Override
  public void stalled() {
    stalled.incrementAndGet();
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

  @Override
  public void giveBack(long bytes) {
    receivingBytes.addAndGet(-bytes);
    engine.giveBackBytes(bytes);
  }
}
