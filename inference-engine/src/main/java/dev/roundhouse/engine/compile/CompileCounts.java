package dev.roundhouse.engine.compile;

import java.util.concurrent.atomic.LongAdder;

/** Where programs came from since the start. Thread-safe. */
public final class CompileCounts {
  private final LongAdder compiled = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder rebuilt = new LongAdder();

  CompileCounts() {}

  /** Programs that were compiled. */
  public long compiled() {
    return compiled.sum();
  }

  /** Programs that did not compile, or crashed the compiler. */
  public long failed() {
    return failed.sum();
  }

  /** Programs that were in the cache. */
  public long hits() {
    return hits.sum();
  }

  /** Programs that were not in the cache, including unusable entries. */
  public long misses() {
    return misses.sum();
  }

  /** Unusable cache entries that were removed. */
  public long rebuilt() {
    return rebuilt.sum();
  }

  void onCompiled() {
    compiled.increment();
  }

  void onFailed() {
    failed.increment();
  }

  void onHit() {
    hits.increment();
  }

  void onMiss() {
    misses.increment();
  }

  void onRebuilt() {
    rebuilt.increment();
  }
}
