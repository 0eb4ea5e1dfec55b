package dev.roundhouse.engine.queue;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Counts the places that each tenant has in each model's queue, so that one that fills its own
 * takes none from another. Thread-safe.
 */
public final class TenantPlaces {
  private final int tenants;
  private final Map<Long, AtomicInteger> taken = new ConcurrentHashMap<>();

  /**
   * @param tenants how many there are; with one nothing is counted
   */
  public TenantPlaces(int tenants) {
    this.tenants = tenants;
  }

  /** Whether each tenant has a queue of its own. */
  public boolean areCounted() {
    return tenants > 1;
  }

  /**
   * @throws IllegalArgumentException when there is no such tenant
   */
  public void require(int tenant) {
    if (tenant < 0 || tenant >= tenants) {
      throw new IllegalArgumentException(
          "a request is of tenant %d, and there are %d".formatted(tenant, tenants));
    }
  }

  /**
   * Takes a place.
   *
   * @param model its key
   * @param limit of a tenant at a model
   * @return what is counted down when the request is over; null when there is no place
   */
  public @Nullable AtomicInteger take(int model, int tenant, int limit) {
    long key = (long) model << Integer.SIZE | tenant;
    AtomicInteger of = taken.computeIfAbsent(key, unknown -> new AtomicInteger());
    if (of.getAndIncrement() >= limit) {
      of.getAndDecrement();
      return null;
    }
    return of;
  }
}
