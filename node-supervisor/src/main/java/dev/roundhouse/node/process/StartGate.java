package dev.roundhouse.node.process;

/** What a process waits for before it is started. Asked by the thread {@code supervisor}. */
public interface StartGate {
  /** Nothing. */
  StartGate OPEN = (sinceNanos, nowNanos) -> true;

  /**
   * @param sinceNanos when it began to wait; what was before does not count
   * @return false to be asked again in a moment
   */
  boolean mayStart(long sinceNanos, long nowNanos);
}
