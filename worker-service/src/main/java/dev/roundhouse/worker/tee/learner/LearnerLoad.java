package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.platform.tstream.StreamPortLoad;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counts what learners do. Thread-safe. */
public final class LearnerLoad extends StreamPortLoad {
  private final AtomicInteger learners = new AtomicInteger();
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

  void learns() {
    learners.incrementAndGet();
  }

  void learnsNoMore() {
    learners.decrementAndGet();
  }

  @Override
  protected void failedToOpen() {
    ended(End.FAILED);
  }

  void ended(End why) {
    ended[why.ordinal()].increment();
  }

  /** Learners that batches are sent to. */
  public int learners() {
    return learners.get();
  }

  public long endedEver(End why) {
    return ended[why.ordinal()].sum();
  }
}
