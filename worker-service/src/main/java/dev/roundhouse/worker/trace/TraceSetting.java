package dev.roundhouse.worker.trace;

import org.jspecify.annotations.Nullable;

/**
 * What is traced of the requests of one model, or of all.
 *
 * @param timestamps true when requests are traced at all
 * @param rate one of so many is
 * @param count how many are, in all; -1 for no end
 * @param logFrequency traces in a file; 0 for all
 */
record TraceSetting(boolean timestamps, int rate, int count, int logFrequency) {
  static final int NO_END = -1;

  /** What is set at one place; null where what is set above holds. */
  record Own(
      @Nullable Boolean timestamps,
      @Nullable Integer rate,
      @Nullable Integer count,
      @Nullable Integer logFrequency) {
    static final Own NOTHING = new Own(null, null, null, null);

    Own withTimestamps(@Nullable Boolean value) {
      return new Own(value, rate, count, logFrequency);
    }

    Own withRate(@Nullable Integer value) {
      return new Own(timestamps, value, count, logFrequency);
    }

    Own withCount(@Nullable Integer value) {
      return new Own(timestamps, rate, value, logFrequency);
    }

    Own withLogFrequency(@Nullable Integer value) {
      return new Own(timestamps, rate, count, value);
    }

    TraceSetting over(TraceSetting above) {
      return new TraceSetting(
          timestamps == null ? above.timestamps : timestamps,
          rate == null ? above.rate : rate,
          count == null ? above.count : count,
          logFrequency == null ? above.logFrequency : logFrequency);
    }
  }
}
