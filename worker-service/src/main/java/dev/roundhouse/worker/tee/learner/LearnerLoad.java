package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counts what learners do. Thread-safe. */
public final class LearnerLoad {
  private final AtomicInteger open = new AtomicInteger();
  private final AtomicInteger learners = new AtomicInteger();
  private final LongAdder[] refused = adders(HelloStatus.values().length);
  private final LongAdder[] ended = adders(End.values().length);

  /** Why a connection was ended that its learner did not end. */
  public enum End {
    /** No whole hello came in time. */
    HANDSHAKE,
    /** It acknowledged no batch for too long. */
    UNACKNOWLEDGED,
    /** It acknowledged what it had not been sent. */
    PROTOCOL,
    /** The model was replaced by one with other tensors, or without a fixed size. */
    REPLACED,
    /** Something was wrong in the server. */
    FAILED
  }

  private static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    Arrays.setAll(adders, i -> new LongAdder());
    return adders;
  }

  /** Connections, those in their handshake included; returns how many there are now. */
  int opened() {
    return open.incrementAndGet();
  }

  void closed() {
    open.decrementAndGet();
  }

  void learns() {
    learners.incrementAndGet();
  }

  void learnsNoMore() {
    learners.decrementAndGet();
  }

  void refused(HelloStatus status) {
    refused[status.ordinal()].increment();
  }

  void ended(End why) {
    ended[why.ordinal()].increment();
  }

  /** Learners that batches are sent to. */
  public int learners() {
    return learners.get();
  }

  public long refusedEver(HelloStatus status) {
    return refused[status.ordinal()].sum();
  }

  public long endedEver(End why) {
    return ended[why.ordinal()].sum();
  }
}
