package dev.roundhouse.worker.tee;

import java.util.concurrent.atomic.AtomicLong;

/** The memory that all rings may have together. Thread-safe. */
final class TeeMemory {
  private final long limit;
  private final AtomicLong held = new AtomicLong();

  TeeMemory(long limit) {
    this.limit = limit;
  }

  /** False, taking none, when there is no room. */
  boolean take(long bytes) {
    for (long before = held.get(); bytes <= limit - before; before = held.get()) {
      if (held.compareAndSet(before, before + bytes)) {
        return true;
      }
    }
    return false;
  }

  void giveBack(long bytes) {
    held.addAndGet(-bytes);
  }

  long held() {
    return held.get();
  }

  long limit() {
    return limit;
  }
}
