package dev.roundhouse.engine.evict;

/**
 * Decides which model's weights leave the device when others need the room. Uses no clock or
 * device, only its arguments, so the same calls always give the same choices. Not thread-safe;
 * owned by the dispatch thread.
 *
 * <p>A model is <em>registered</em> for as long as it can be sent requests, and <em>resident</em>
 * between {@link #loaded} and {@link #evicted}. What a policy has learned of a registered model
 * outlasts its evictions. A call costs O(log resident) at most, averaged over all calls, whatever
 * the number of registered models; none allocates but {@link #register}.
 *
 * <p>Calls that name a slot throw {@link IllegalStateException} when it is not registered.
 */
public interface EvictionPolicy {

  /** The name in the configuration. */
  String name();

  /**
   * Registers a model, or gives a registered one new figures.
   *
   * @param bytes that evicting it would free, 0 or more
   * @param reloadNanos what it takes to load it again, 0 or more
   */
  void register(int slot, long bytes, long reloadNanos);

  /**
   * Forgets a model with everything that was known of it, its residency and its holds too. Another
   * model may have the slot next. Harmless when the slot is not registered.
   */
  void unregister(int slot);

  /**
   * A batch of the model was taken from its queue. Called once per batch, whatever its size and
   * whether or not the weights had to be loaded for it: one load serves a whole batch.
   */
  void used(int slot, long nowNanos);

  /**
   * The model's weights are on the device now.
   *
   * @throws IllegalStateException when they were already
   */
  void loaded(int slot, long nowNanos);

  /**
   * The model's weights have left the device, by choice of this policy or not. Its holds stay.
   *
   * @throws IllegalStateException when they were not there
   */
  void evicted(int slot);

  /**
   * Bars the model from being chosen until as many {@link #release} as there were holds. May come
   * before the model is loaded.
   */
  void hold(int slot);

  /**
   * Undoes one {@link #hold}.
   *
   * @throws IllegalStateException when there is none
   */
  void release(int slot);

  /**
   * The resident model without a hold that is worth least, or -1 when there is none. Asked again
   * before anything else is called, it gives the same answer.
   */
  int victim();

  /** Nanoseconds until the model's expected next use; infinite when unknown. For reports. */
  double nextUseNanos(int slot, long nowNanos);
}
