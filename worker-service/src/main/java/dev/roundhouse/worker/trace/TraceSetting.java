package dev.roundhouse.worker.trace;

import org.jspecify.annotations.Nullable;

/**
 * What is traced of one model's requests, or of all.
 *
 * @param levels traced parts; none when no request is traced
 * @param rate one in this many is traced
 * @param count requests to trace in all; -1 for no limit
 * @param logFrequency traces in a file; 0 for all
 * @param mode where they go
 */
record TraceSetting(TraceLevels levels, int rate, int count, int logFrequency, TraceMode mode) {
  static final int NO_END = -1;

  boolean writesFiles() {
    return mode == TraceMode.TRITON && levels.isOn();
  }

  boolean decidesSpans() {
    return mode == TraceMode.OPENTELEMETRY;
  }

  /** What one level sets; null where the level above applies. */
  record Own(
      @Nullable TraceLevels levels,
      @Nullable Integer rate,
      @Nullable Integer count,
      @Nullable Integer logFrequency,
      @Nullable TraceMode mode) {
    static final Own NOTHING = new Own(null, null, null, null, null);

    Own withLevels(@Nullable TraceLevels value) {
      return new Own(value, rate, count, logFrequency, mode);
    }

    Own withRate(@Nullable Integer value) {
      return new Own(levels, value, count, logFrequency, mode);
    }

    Own withCount(@Nullable Integer value) {
      return new Own(levels, rate, value, logFrequency, mode);
    }

    Own withLogFrequency(@Nullable Integer value) {
      return new Own(levels, rate, count, value, mode);
    }

    Own withMode(@Nullable TraceMode value) {
      return new Own(levels, rate, count, logFrequency, value);
    }

    TraceSetting over(TraceSetting above) {
      return new TraceSetting(
          levels == null ? above.levels : levels,
          rate == null ? above.rate : rate,
          count == null ? above.count : count,
          logFrequency == null ? above.logFrequency : logFrequency,
          mode == null ? above.mode : mode);
    }
  }
}
