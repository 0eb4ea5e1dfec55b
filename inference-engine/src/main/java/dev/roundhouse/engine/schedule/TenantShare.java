package dev.roundhouse.engine.schedule;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Iterator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Shares the device out among tenants by weight ({@link VirtualTime}), and a tenant's part among
 * its models by another discipline, of which each tenant has one. A run is charged to the tenants
 * whose rows are in it, to each in proportion to its rows.
 */
public final class TenantShare implements Discipline {
  private final VirtualTime tenants = new VirtualTime();
  private final Discipline[] models;

  /** What each had, as far as it was corrected. */
  private final long[] hadNanos;

  /** Runs that were charged and not corrected, the oldest first: as many as there are slots. */
  private final ArrayDeque<Charge> charges = new ArrayDeque<>();

  private record Charge(int slot, long expectedNanos, int[] rows, int sum) {
    /** What is a tenant's of so much time. */
    long part(int tenant, long nanos) {
      return Math.round((double) nanos * rows[tenant] / sum);
    }
  }

  /**
   * @param weights of tenants, by their numbers
   * @param discipline makes one for each
   */
  public TenantShare(double[] weights, Supplier<Discipline> discipline) {
    models = new Discipline[weights.length];
    hadNanos = new long[weights.length];
    Arrays.setAll(models, tenant -> discipline.get());
    for (int tenant = 0; tenant < weights.length; tenant++) {
      tenants.register(tenant, weights[tenant]);
    }
  }

  public int tenants() {
    return models.length;
  }

  /** Device time that each tenant has had, by its number. */
  public long[] hadNanos() {
    return hadNanos.clone();
  }

  @Override
  public String name() {
    return models[0].name();
  }

  /** A tenant's first request at a model matters, wherever it stands in the model's queue. */
  @Override
  public boolean watchesQueues() {
    return true;
  }

  /** Whether a tenant's discipline looks at more than the front. */
  public boolean modelsWatchQueues() {
    return models[0].watchesQueues();
  }

  @Override
  public boolean shedsByCost() {
    return models[0].shedsByCost();
  }

  @Override
  public void register(int slot, double weight) {
    for (Discipline each : models) {
      each.register(slot, weight);
    }
  }

  @Override
  public void unregister(int slot) {
    notReady(slot);
    for (Discipline each : models) {
      each.unregister(slot);
    }
    charges.removeIf(charge -> charge.slot() == slot);
  }

  /** Of the first tenant. */
  @Override
  public void ready(int slot, Front front) {
    ready(slot, 0, front);
  }

  /** A tenant has something to run at a model; as {@link Discipline#ready(int, Front)}. */
  public void ready(int slot, int tenant, Front front) {
    Discipline of = models[tenant];
    boolean wasEmpty = of.isEmpty();
    of.ready(slot, front);
    if (wasEmpty) {
      tenants.ready(tenant, new Front(front.arrivalNanos(), Long.MAX_VALUE, 1));
    }
  }

  @Override
  public void notReady(int slot) {
    for (int tenant = 0; tenant < models.length; tenant++) {
      notReady(slot, tenant);
    }
  }

  /** A tenant has nothing to run at a model. Harmless when it had nothing before. */
  public void notReady(int slot, int tenant) {
    models[tenant].notReady(slot);
    if (models[tenant].isEmpty()) {
      tenants.notReady(tenant);
    }
  }

  @Override
  public boolean isEmpty() {
    return tenants.isEmpty();
  }

  @Override
  public boolean hasOther(int slot) {
    for (Discipline each : models) {
      if (each.hasOther(slot)) {
        return true;
      }
    }
    return false;
  }

  /** The tenant that {@link #choose} chooses a model of. */
  public int chosenTenant() {
    return tenants.choose();
  }

  @Override
  public int choose() {
    return models[chosenTenant()].choose();
  }

  @Override
  public int[] order() {
    return Arrays.stream(tenants.order())
        .flatMap(tenant -> Arrays.stream(models[tenant].order()))
        .distinct()
        .toArray();
  }

  @Override
  public String criterion() {
    return models[0].criterion() + " within its tenant's";
  }

  /** To the tenant that was chosen. */
  @Override
  public void charge(int slot, long expectedNanos, long nowNanos) {
    int[] rows = new int[models.length];
    rows[isEmpty() ? 0 : chosenTenant()] = 1;
    charge(slot, rows, expectedNanos, nowNanos);
  }

  /**
   * Charges a run to tenants; as {@link Discipline#charge}.
   *
   * @param rows that each has in it; all of the first when nobody has any
   */
  public void charge(int slot, int[] rows, long expectedNanos, long nowNanos) {
    int sum = Arrays.stream(rows).sum();
    int[] counted = rows.clone();
    if (sum == 0) {
      counted[0] = 1;
      sum = 1;
    }
    Charge charge = new Charge(slot, expectedNanos, counted, sum);
    charges.add(charge);
    for (int tenant = 0; tenant < models.length; tenant++) {
      if (counted[tenant] > 0) {
        long part = charge.part(tenant, expectedNanos);
        tenants.charge(tenant, part, nowNanos);
        models[tenant].charge(slot, part, nowNanos);
      }
    }
  }

  @Override
  public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    Iterator<Charge> all = charges.iterator();
    while (all.hasNext()) {
      Charge charge = all.next();
      if (charge.slot() == slot && charge.expectedNanos() == expectedNanos) {
        all.remove();
        correct(charge, deviceNanos, nowNanos);
        return;
      }
    }
  }

  private void correct(Charge charge, long deviceNanos, long nowNanos) {
    for (int tenant = 0; tenant < models.length; tenant++) {
      if (charge.rows()[tenant] > 0) {
        long expected = charge.part(tenant, charge.expectedNanos());
        long had = charge.part(tenant, deviceNanos);
        hadNanos[tenant] += had;
        tenants.correct(tenant, expected, had, nowNanos);
        models[tenant].correct(charge.slot(), expected, had, nowNanos);
      }
    }
  }

  /** Of all tenants together; the deficit is that of the one furthest behind at the model. */
  @Override
  public @Nullable Standing standing(int slot) {
    double share = 0;
    double deficit = Double.NEGATIVE_INFINITY;
    for (int tenant = 0; tenant < models.length; tenant++) {
      Standing in = models[tenant].standing(slot);
      Standing of = tenants.standing(tenant);
      if (in == null) {
        return null;
      }
      share += of.share() * in.share();
      deficit = Math.max(deficit, in.deficit());
    }
    return new Standing(Math.min(1, share), deficit);
  }
}
