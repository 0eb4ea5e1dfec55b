package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.platform.tstream.StreamPortLoad;
import java.util.concurrent.atomic.LongAdder;

/** Counts what streams do. Thread-safe. */
public final class StreamLoad extends StreamPortLoad {
  private final LongAdder taken = new LongAdder();
  private final LongAdder answered = new LongAdder();
  private final LongAdder requests = new LongAdder();
  private final LongAdder[] ended = adders(End.values().length);

  /** Why a connection was ended that its client did not end. */
  public enum End {
    /** It began in plain text at a port that takes TLS. */
    PLAIN_TEXT,
    /** No TLS was agreed on: certificates, versions, ALPN; or it broke. */
    TLS,
    /** No whole hello came in time, or none at all. */
    HANDSHAKE,
    /** It sent more messages than its window. */
    WINDOW,
    /** Its client went away in the middle of a message. */
    TRUNCATED,
    /** The rest of a message did not come. */
    STALLED,
    /** Its client did not read. */
    UNREAD,
    /** The model was replaced by one with other tensors. */
    REPLACED,
    /** Something was wrong in the server. */
    FAILED
  }

  /** Messages that were taken since the start. */
  public long takenEver() {
    return taken.sum();
  }

  /** Messages that were taken and not answered. */
  public long open() {
    long before = answered.sum();
    return Math.max(0, taken.sum() - before);
  }

  /** Requests of the engine that messages were, since the start: several may be one. */
  public long requestsEver() {
    return requests.sum();
  }

  /** Connections ended since the start. */
  public long endedEver(End why) {
    return ended[why.ordinal()].sum();
  }

  void taken(int messages) {
    taken.add(messages);
  }

  /** Told, or never will be. */
  void answered(int messages) {
    answered.add(messages);
  }

  void submitted() {
    requests.increment();
  }

  @Override
  protected void failedToOpen() {
    ended(End.FAILED);
  }

  void ended(End why) {
    ended[why.ordinal()].increment();
  }
}
