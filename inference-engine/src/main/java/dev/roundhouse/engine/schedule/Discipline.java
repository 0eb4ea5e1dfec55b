package dev.roundhouse.engine.schedule;

/** Decides which ready model runs next, as a number per model. Pure. */
public interface Discipline {

  /** The name in the configuration. */
  String name();

  /**
   * Where a model stands: the ready model with the smallest key runs next. Asked again whenever the
   * front of that model's queue changes.
   */
  long key(Front front);

  /**
   * The front of one model's queue.
   *
   * @param arrivalNanos when the oldest waiting request was accepted
   * @param waiting requests in the queue
   */
  record Front(long arrivalNanos, int waiting) {}
}
