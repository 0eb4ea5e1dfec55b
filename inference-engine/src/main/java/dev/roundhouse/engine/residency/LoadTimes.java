package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.schedule.CostEstimate;

/**
 * How long weights take to the device, learned from loads: those that are in host memory, and apart
 * from them those that are read from files. Written by the dispatch thread; any may ask.
 */
final class LoadTimes {
  /** Before any load: 10 GB/s, which pageable memory reaches. */
  private static final double FROM_MEMORY_NANOS_PER_BYTE = 0.1;

  /** Before any load: 1 GB/s, a disk that is not slow, and a digest. */
  private static final double FROM_FILES_NANOS_PER_BYTE = 1;

  /** Below this a load tells more of what it costs to begin one than of the link. */
  private static final long TELLING_BYTES = 1 << 20;

  private static final long LEAST_NANOS = 10_000;

  private final Speed fromMemory = new Speed(FROM_MEMORY_NANOS_PER_BYTE);
  private final Speed fromFiles = new Speed(FROM_FILES_NANOS_PER_BYTE);

  /** How long a load of the weights is expected to take, in nanoseconds. */
  long expectedNanos(ModelWeights weights) {
    return nanos(weights, of(weights).mean);
  }

  /**
   * The shortest of the latest loads, in nanoseconds; 0 when none is recent. Requests are dropped
   * and refused because of it, after which no load may happen to correct it: so one slow load is
   * not enough, and the figure expires.
   */
  long confirmedNanos(ModelWeights weights, long nowNanos) {
    Speed speed = of(weights);
    boolean recent = nowNanos - speed.measuredNanos <= CostEstimate.MAX_AGE_NANOS;
    return recent && speed.measuredNanos != CostEstimate.NEVER ? nanos(weights, speed.least) : 0;
  }

  /** Takes a load into account that has brought weights to the device. */
  void measured(ModelWeights weights, long nanos, long nowNanos) {
    if (weights.byteSize() >= TELLING_BYTES) {
      of(weights).measured((double) nanos / weights.byteSize(), nowNanos);
    }
  }

  private Speed of(ModelWeights weights) {
    return weights.isInMemory() ? fromMemory : fromFiles;
  }

  private static long nanos(ModelWeights weights, double nanosPerByte) {
    return Math.max(LEAST_NANOS, Math.round(weights.byteSize() * nanosPerByte));
  }

  /** Nanoseconds per byte. */
  private static final class Speed {
    private final double[] latest = new double[8];
    private int next;
    private int count;
    volatile double mean;
    volatile double least;
    volatile long measuredNanos = CostEstimate.NEVER;

    Speed(double assumed) {
      mean = assumed;
      least = assumed;
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // one writer
    void measured(double nanosPerByte, long nowNanos) {
      latest[next] = nanosPerByte;
      next = (next + 1) % latest.length;
      count = Math.min(count + 1, latest.length);
      mean += (nanosPerByte - mean) / 8;
      double lowest = Double.POSITIVE_INFINITY;
      for (int i = 0; i < count; i++) {
        lowest = Math.min(lowest, latest[i]);
      }
      least = lowest;
      measuredNanos = nowNanos;
    }
  }
}
