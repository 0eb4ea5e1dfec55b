package dev.roundhouse.platform.grpc;

import dev.roundhouse.transport.io.LoadListener;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What a gRPC port has open at the moment. Thread-safe. */
public class PortLoad implements LoadListener {
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicLong stalled = new AtomicLong();
  private final AtomicLong otherProtocol = new AtomicLong();

  /** Those in their handshake included. */
  public final int connections() {
    return connections.get();
  }

  public final int calls() {
    return calls.get();
  }

  /** Calls and connections that were ended because their client stopped sending or reading. */
  public final long stalledEver() {
    return stalled.get();
  }

  /** Connections that were ended because their client did not speak HTTP/2. */
  public final long otherProtocolEver() {
    return otherProtocol.get();
  }

  @Override
  public final void connectionOpened() {
    connections.incrementAndGet();
  }

  @Override
  public final void connectionClosed() {
    connections.decrementAndGet();
  }

  @Override
  public final void callOpened() {
    calls.incrementAndGet();
  }

  @Override
  public final void callClosed() {
    calls.decrementAndGet();
  }

  @Override
  public final void stalled() {
    stalled.incrementAndGet();
  }

  @Override
  public final void otherProtocol() {
    otherProtocol.incrementAndGet();
  }
}
