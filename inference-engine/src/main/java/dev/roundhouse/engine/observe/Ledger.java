package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.thread.OwnerThread;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How a thread counts: as the owner, the only one to write its cells, which costs a store; or as
 * one of many. The two sides' cells lie on different cache lines, so that neither waits for the
 * other. Whoever counts is given one or the other when it is made.
 */
public abstract sealed class Ledger {
  static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(long[].class);

  /** For any thread. */
  public static final Ledger SHARED = new Shared();

  private Ledger() {}

  /** For one thread. There is one such ledger for all that it counts in. */
  public static Ledger ownedBy(OwnerThread owner) {
    return new Owned(owner);
  }

  /** Counts for a model. */
  public final void add(ModelCounters to, Metric metric, long amount) {
    add(
        to.cells,
        ModelCounters.OWNED + metric.ordinal(),
        ModelCounters.SHARED + metric.ordinal(),
        amount);
  }

  /** Counts one for a model. */
  public final void add(ModelCounters to, Metric metric) {
    add(to, metric, 1);
  }

  /** Gives a place in a model's queue back. */
  public final void leave(ModelCounters from) {
    addLeft(from, 1);
  }

  /** Takes back a {@link #leave}: the run came to nothing. */
  public final void rejoin(ModelCounters to) {
    addLeft(to, -1);
  }

  private void addLeft(ModelCounters to, long amount) {
    add(
        to.cells,
        ModelCounters.OWNED + ModelCounters.LEFT,
        ModelCounters.SHARED + ModelCounters.LEFT,
        amount);
  }

  /** Where batches that have been answered are counted. */
  public abstract InferenceTally tally(ModelCounters of);

  /** Adds to a sum. */
  public abstract void add(SplitSum to, long amount);

  abstract void add(long[] cells, int owned, int shared, long amount);

  private static final class Owned extends Ledger {
    private final OwnerThread owner;

    Owned(OwnerThread owner) {
      this.owner = owner;
    }

    @Override
    void add(long[] cells, int owned, int shared, long amount) {
      assert owner.isHere();
      CELLS.setRelease(cells, owned, cells[owned] + amount);
    }

    @Override
    public void add(SplitSum to, long amount) {
      add(to.owned, SplitSum.OWNED, SplitSum.OWNED, amount);
    }

    @Override
    public InferenceTally tally(ModelCounters of) {
      assert owner.isHere();
      return of.ownedTally();
    }
  }

  private static final class Shared extends Ledger {
    @Override
    void add(long[] cells, int owned, int shared, long amount) {
      CELLS.getAndAdd(cells, shared, amount);
    }

    @Override
    public void add(SplitSum to, long amount) {
      to.shared.add(amount);
    }

    @Override
    public InferenceTally tally(ModelCounters of) {
      return of.sharedTally();
    }
  }
}
