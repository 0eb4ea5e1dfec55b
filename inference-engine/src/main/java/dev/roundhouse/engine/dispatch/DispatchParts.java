package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.QueueDrops;
import dev.roundhouse.engine.lane.SharedParts;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;

/**
 * What {@link Pipeline}, {@link WeightMover} and {@link ModelLifecycle} work on together. Owned by
 * the dispatch thread.
 */
record DispatchParts(
    NanoClock clock,
    Lanes lanes,
    SharedParts shared,
    WeightCache cache,
    BatchSlots slots,
    BatchFormer former,
    QueueDrops drops,
    WarmUp warmUp,
    Failures failures) {

  static DispatchParts of(DispatchContext context) {
    Discipline discipline = context.discipline().get();
    WeightCache cache = context.residency().newCache();
    Lanes lanes = new Lanes(discipline, context.discipline().get(), cache);
    QueueDrops drops = new QueueDrops(context.accounting());
    return new DispatchParts(
        context.clock(),
        lanes,
        new SharedParts(),
        cache,
        new BatchSlots(context.device()),
        new BatchFormer(drops, lanes, discipline.shedsByCost()),
        drops,
        new WarmUp(),
        new Failures());
  }
}
