package dev.roundhouse.node.process;

/** What a process waits for before it is started. Asked by the thread {@code supervisor}. */
public interface StartGate {
  /** Nothing. */
  StartGate OPEN = (sinceNanos, nowNanos) -> true;

  /**
   * @param sinceNanos when it began to wait; earlier readings do not count
   * @return false to be asked again soon
   */
  boolean mayStart(long sinceNanos, long nowNanos);
}
