package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.tstream.HelloStatus;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counts connections of streams, and hellos that were refused. Thread-safe. */
public abstract class StreamPortLoad {
  private final AtomicInteger connections = new AtomicInteger();
  private final LongAdder[] refused = adders(HelloStatus.values().length);

  protected static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    Arrays.setAll(adders, i -> new LongAdder());
    return adders;
  }

  /** Connections that are open, those in their handshake included. */
  public final int connections() {
    return connections.get();
  }

  /** Hellos refused since the start. */
  public final long refusedEver(HelloStatus status) {
    return refused[status.ordinal()].sum();
  }

  /**
   * @return how many there are now
   */
  final int opened() {
    return connections.incrementAndGet();
  }

  final void closed() {
    connections.decrementAndGet();
  }

  /** One of them has ended, because something was wrong here when it began. */
  protected abstract void failedToOpen();

  public final void refused(HelloStatus status) {
    refused[status.ordinal()].increment();
  }
}
