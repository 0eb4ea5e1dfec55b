package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.LoadListener;
import java.util.concurrent.atomic.AtomicInteger;

/** What a server has said of its load. */
public final class LoadCounts implements LoadListener {
  public final AtomicInteger connections = new AtomicInteger();
  public final AtomicInteger calls = new AtomicInteger();
  public final AtomicInteger stalled = new AtomicInteger();

  public final AtomicInteger otherProtocol = new AtomicInteger();

  /** Ends that were told without a beginning. */
  public final AtomicInteger belowZero = new AtomicInteger();

  @Override
  public void connectionOpened() {
    connections.incrementAndGet();
  }

  @Override
  public void connectionClosed() {
    left(connections);
  }

  @Override
  public void callOpened() {
    calls.incrementAndGet();
  }

  @Override
  public void callClosed() {
    left(calls);
  }

  @Override
  public void stalled() {
    stalled.incrementAndGet();
  }

  @Override
  public void otherProtocol() {
    otherProtocol.incrementAndGet();
  }

  private void left(AtomicInteger count) {
    if (count.decrementAndGet() < 0) {
      belowZero.incrementAndGet();
    }
  }
}
