package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InferenceRequest;

/**
 * One model's waiting requests, in the order in which they are to run. Cancelled requests stay
 * until they reach the front or the room is needed; {@link #dropEnded} lets them go. Owned by the
 * dispatch thread.
 */
public abstract sealed class ModelQueue permits RankedQueue, TenantQueues {

  /**
   * @param tenants that requests are of
   * @param variants shape variants of the model
   */
  public static ModelQueue of(int tenants, int variants) {
    return tenants == 1 ? new RankedQueue(variants) : new TenantQueues(tenants, variants);
  }

  public abstract int size();

  public final boolean isEmpty() {
    return size() == 0;
  }

  /**
   * True when no request has more than one row and none runs ahead of others: then as many rows
   * wait as requests.
   */
  public abstract boolean hasOnlySingleRows();

  public abstract void add(QueuedRequest request);

  /** Puts a request that was taken out of here back to where it was. */
  public abstract void putBack(QueuedRequest request);

  /** Moves the front request behind all others of its tenant, variant and level. */
  public abstract void delayFront();

  /**
   * @param position 0 is the front; those of its variant and rank follow it
   */
  public abstract QueuedRequest get(int position);

  public abstract QueuedRequest remove();

  /**
   * The next requests that are removed are those that follow the front now, of its variant, for as
   * long as there are any; until {@link #endBatch}.
   */
  public abstract void beginBatch();

  /** The front is the oldest again. */
  public abstract void endBatch();

  /**
   * Of all that wait and do not run ahead of others, for those need no comparing; {@link
   * InferenceRequest#NO_DEADLINE} when none has one.
   */
  public abstract long earliestDeadlineNanos();

  /** Removes requests at the front that somebody else has ended. */
  public final void dropEnded() {
    while (!isEmpty() && get(0).isDone()) {
      remove();
    }
  }
}
