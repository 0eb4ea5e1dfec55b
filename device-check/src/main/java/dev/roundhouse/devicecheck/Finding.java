package dev.roundhouse.devicecheck;

import org.jspecify.annotations.Nullable;

/**
 * One row of the report.
 *
 * @param what that was looked at
 * @param value null when it is not a number
 * @param unit of the value
 * @param note what there is to say beside the value
 */
public record Finding(
    String what, Verdict verdict, @Nullable Double value, String unit, String note) {

  /** What to make of a finding. */
  public enum Verdict {
    /** It is as it must be. */
    PASS,
    /** It is not as it must be; the check as a whole has failed. */
    FAIL,
    /** A measurement, or a fact: there is no right or wrong. */
    FIGURE,
    /** Could not be found out here; the note says why. */
    NOT_MEASURED
  }
}
