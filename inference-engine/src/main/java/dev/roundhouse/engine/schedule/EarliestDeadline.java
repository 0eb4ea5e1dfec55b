package dev.roundhouse.engine.schedule;

/**
 * The model that holds the earliest deadline anywhere in its queue; among equals, the one whose
 * oldest request has waited longest. ReactantServer, "edf".
 */
public final class EarliestDeadline extends KeyedDiscipline {

  @Override
  public String name() {
    return "edf";
  }

  @Override
  public String criterion() {
    return "deadline";
  }

  /** A later request may have the earlier deadline. */
  @Override
  public boolean watchesQueues() {
    return true;
  }

  @Override
  long key(Front front) {
    return front.earliestDeadlineNanos();
  }

  @Override
  long secondKey(Front front) {
    return front.arrivalNanos();
  }
}
