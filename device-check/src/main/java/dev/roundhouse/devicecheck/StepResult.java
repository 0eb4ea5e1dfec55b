package dev.roundhouse.devicecheck;

import java.util.List;

/**
 * How a step ended.
 *
 * @param seconds it took
 * @param reason why it ended otherwise than finished; empty when it finished
 * @param findings what it told before it ended
 * @param lastLines of its log, when it ended otherwise than finished
 */
record StepResult(
    String step,
    End end,
    double seconds,
    String reason,
    List<Finding> findings,
    List<String> lastLines) {
  StepResult {
    findings = List.copyOf(findings);
    lastLines = List.copyOf(lastLines);
  }

  /** Nothing of it is wrong. */
  boolean isPassed() {
    return end == End.FINISHED
        && findings.stream().noneMatch(each -> each.verdict() == Finding.Verdict.FAIL);
  }

  /** The ways in which a step ends. */
  enum End {
    /** It came to its end. */
    FINISHED,
    /** It gave up, with a reason. */
    FAILED,
    /** Its process ended by itself in the middle: a crash, or out of memory. */
    DIED,
    /** It was still at work when its time was over, and was killed. */
    CUT_OFF,
    /** There was no time left for it. */
    NOT_RUN
  }
}
