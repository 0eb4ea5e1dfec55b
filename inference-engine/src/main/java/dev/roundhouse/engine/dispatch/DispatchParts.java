package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.QueueDrops;
import dev.roundhouse.engine.lane.SharedParts;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.NanoClock;

/**
 * The state shared by {@link Pipeline}, {@link WeightMover} and {@link ModelLifecycle}.
 *
 * @param accounting the dispatch thread's own
 */
record DispatchParts(
    OwnerThread owner,
    Accounting accounting,
    NanoClock clock,
    Lanes lanes,
    SharedParts shared,
    WeightCache cache,
    BatchSlots slots,
    BatchFormer former,
    QueueDrops drops,
    WarmUp warmUp,
    RecentRuns recent,
    RecentRuns recentLoads,
    RecentEvictions recentEvictions,
    Failures failures) {

  static DispatchParts of(DispatchContext context) {
    OwnerThread owner = new OwnerThread();
    Ledger ledger = Ledger.ownedBy(owner);
    Accounting accounting = context.accounting().ownedBy(ledger);
    Discipline discipline = context.discipline().get();
    WeightCache cache = context.residency().newCache();
    Lanes lanes = new Lanes(discipline, context.discipline().get(), cache, owner);
    QueueDrops drops = new QueueDrops(accounting);
    return new DispatchParts(
        owner,
        accounting,
        context.clock(),
        lanes,
        new SharedParts(lanes.tenants()),
        cache,
        new BatchSlots(context.device(), ledger),
        new BatchFormer(drops, lanes, discipline.shedsByCost()),
        drops,
        new WarmUp(),
        new RecentRuns(),
        new RecentRuns(),
        new RecentEvictions(),
        new Failures());
  }

  /** Where the dispatch thread counts. */
  Ledger ledger() {
    return accounting.ledger();
  }
}
