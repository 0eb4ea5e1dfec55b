package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.grpc.LoadListener;
import java.util.concurrent.atomic.AtomicLong;

/** How busy the gRPC port is. Thread-safe. */
public final class GatewayLoad implements LoadListener {
  private final AtomicLong connections = new AtomicLong();
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong stalled = new AtomicLong();

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

  long connections() {
    return connections.get();
  }

  long calls() {
    return calls.get();
  }

  long stalledEver() {
    return stalled.get();
  }
}
