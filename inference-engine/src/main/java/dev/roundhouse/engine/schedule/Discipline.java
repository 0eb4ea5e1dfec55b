package dev.roundhouse.engine.schedule;

import org.jspecify.annotations.Nullable;

/**
 * Decides which ready model runs next. Uses no clock or queue, only its arguments, so the same
 * calls always give the same choices. Not thread-safe; owned by the dispatch thread.
 *
 * <p>A model is <em>registered</em> with its weight for as long as it can be sent requests, and
 * <em>ready</em> while it has something to run. Choosing costs O(log ready), whatever the number of
 * registered models.
 */
public interface Discipline {

  /** The name in the configuration. */
  String name();

  /** True when {@link #ready} must be told of every request, not only of a new front. */
  default boolean watchesQueues() {
    return false;
  }

  /**
   * True when a request is dropped as soon as its run can no longer end in time. A late run helps
   * nobody and delays the rest; in overload, all of them.
   */
  default boolean shedsByCost() {
    return true;
  }

  /** Registers a model, or gives it another weight. */
  void register(int slot, double weight);

  /**
   * Forgets a model with all that was charged to it; it is not ready any more either. Another model
   * may have the slot next.
   */
  void unregister(int slot);

  /** The model has something to run, or the front of its queue or its next batch changed. */
  void ready(int slot, Front front);

  /** The model has nothing to run. Harmless when it had nothing before. */
  void notReady(int slot);

  /** True when no model is ready. */
  boolean isEmpty();

  /** True when a model is ready that is not this one. */
  boolean hasOther(int slot);

  /**
   * The model to run next; it stays ready until {@link #notReady} says otherwise. Changes nothing:
   * asked again, the answer is the same.
   *
   * @throws IllegalStateException when no model is ready
   */
  int choose();

  /**
   * The ready models in the order of their claims as they are now; the first is {@link #choose}'s.
   * Models whose place cannot be told are left out. Changes nothing; takes O(n log n), to be shown.
   */
  default int[] order() {
    return isEmpty() ? new int[0] : new int[] {choose()};
  }

  /** What decides the order, in a word, for people. */
  default String criterion() {
    return name();
  }

  /**
   * A batch of a model has been chosen to run: charges what it is expected to take, so that the
   * choices made before it has run know of it. Every charge is followed by one {@link #correct}.
   *
   * @param expectedNanos device time, 0 or more
   * @param nowNanos when it was chosen
   */
  void charge(int slot, long expectedNanos, long nowNanos);

  /**
   * Replaces an earlier charge's estimate by the actual time, as if that had been charged, whatever
   * has happened since. Of equal charges, corrects the oldest. Without effect when the model was
   * unregistered since.
   *
   * @param expectedNanos as it was charged
   * @param deviceNanos what the run took; 0 when it was not run after all
   */
  void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos);

  /** Where a registered model stands; null when the discipline knows no shares. */
  default @Nullable Standing standing(int slot) {
    return null;
  }

  /**
   * A model's claim on the device.
   *
   * @param share of the device it is due by its weight, 0 to 1
   * @param deficit how far it is behind (above 0) or ahead of that (below 0), in the discipline's
   *     own unit
   */
  record Standing(double share, double deficit) {}

  /**
   * What a choice depends on.
   *
   * @param arrivalNanos when the oldest waiting request was accepted
   * @param earliestDeadlineNanos of all waiting requests; {@link Long#MAX_VALUE} when none has one
   * @param rowCostNanos what a row of the batch that would run is expected to cost, above 0
   */
  record Front(long arrivalNanos, long earliestDeadlineNanos, double rowCostNanos) {}
}
