package dev.roundhouse.gateway.stream;

import dev.roundhouse.platform.tstream.StreamPortLoad;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counts what passes the gateway in streams. Thread-safe. */
public final class StreamCounts extends StreamPortLoad {
  private final AtomicInteger open = new AtomicInteger();
  private final LongAdder fromClients = new LongAdder();
  private final LongAdder fromWorkers = new LongAdder();
  private final LongAdder[] ended = adders(End.values().length);

  /** How a connection ended. */
  public enum End {
    /** No whole hello came in time, or none at all. */
    HANDSHAKE,
    /** Its worker had said all that it had to say. */
    COMPLETE,
    /** Its client's connection was reset or lost, or closed while a worker was asked. */
    CLIENT_LOST,
    /** Its worker's connection was reset or lost. */
    WORKER_LOST,
    /** Its client did not read what its worker had sent. */
    UNREAD,
    /** One side did not take what it was sent, and others needed the memory. */
    RELIEVED,
    /** Something was wrong in the gateway. */
    FAILED
  }

  /** Streams that a worker has taken and that have not ended. */
  public int open() {
    return open.get();
  }

  /** Bytes that came from clients behind their hellos, since the start. */
  public long fromClients() {
    return fromClients.sum();
  }

  /** Bytes that came from workers behind their replies, since the start. */
  public long fromWorkers() {
    return fromWorkers.sum();
  }

  /** Connections ended since the start. */
  public long endedEver(End how) {
    return ended[how.ordinal()].sum();
  }

  @Override
  protected void failedToOpen() {
    ended(End.FAILED);
  }

  void begun() {
    open.incrementAndGet();
  }

  void over() {
    open.decrementAndGet();
  }

  void passed(boolean fromClient, int bytes) {
    (fromClient ? fromClients : fromWorkers).add(bytes);
  }

  void ended(End how) {
    ended[how.ordinal()].increment();
  }
}
