package dev.roundhouse.engine.hostweights;

import java.util.concurrent.atomic.AtomicLong;

/** Counts the host memory that weights take. Thread-safe. */
final class HostBytes {
  private final AtomicLong held = new AtomicLong();
  private final AtomicLong shared = new AtomicLong();

  void addPrivate(long bytes) {
    held.addAndGet(bytes);
  }

  void addShared(long bytes) {
    held.addAndGet(bytes);
    shared.addAndGet(bytes);
  }

  long held() {
    return held.get();
  }

  long shared() {
    return shared.get();
  }
}
