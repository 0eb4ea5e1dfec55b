package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.lane.SharedParts;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.recording.EvictionEvent;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;

/**
 * How weights leave the device: because others need the room, or with their model for good. Owned
 * by the dispatch thread; the upload thread closes evicted weights before anything it is asked to
 * upload later.
 */
final class WeightEvictions {
  private final Lanes lanes;
  private final WeightCache cache;
  private final Ledger ledger;
  private final Uploads uploads;
  private final OperatorLoads asked;
  private final WarmUp warmUp;
  private final RecentRuns recent;
  private final RecentRuns recentLoads;
  private final RecentEvictions recentEvictions;
  private final SharedParts shared;
  private final BatchSlots slots;
  private final Failures failures;
  private final NanoClock clock;

  /** Models that were released and may be on the device yet. */
  private final List<CompletableFuture<Void>> leaving = new ArrayList<>();

  WeightEvictions(DispatchParts parts, Uploads uploads, OperatorLoads asked) {
    this.uploads = uploads;
    this.asked = asked;
    lanes = parts.lanes();
    cache = parts.cache();
    ledger = parts.ledger();
    warmUp = parts.warmUp();
    recent = parts.recent();
    recentLoads = parts.recentLoads();
    recentEvictions = parts.recentEvictions();
    shared = parts.shared();
    slots = parts.slots();
    failures = parts.failures();
    clock = parts.clock();
  }

  /** True when a batch of the model is on its way, or it is being warmed up. */
  boolean isInUse(int modelIndex) {
    ModelLane warming = warmUp.next();
    return slots.useWeightsOf(modelIndex)
        || (warming != null && warming.modelIndex() == modelIndex)
        || lanes.isAwaitedByCommitted(lanes.get(modelIndex));
  }

  /**
   * Closes weights chosen for eviction.
   *
   * @param forModel index of the model that needs the room, or {@link RecentEvictions#NOBODY}
   */
  void evict(List<WeightCache.Left> left, int forModel, long now) {
    for (WeightCache.Left each : left) {
      evict(each, forModel, now, () -> {});
    }
  }

  private void evict(WeightCache.Left left, int forModel, long now, Runnable then) {
    ModelLane from = lanes.get(left.modelIndex());
    ledger.add(from.counters(), Metric.WEIGHT_EVICTIONS);
    recentEvictions.add(left.modelIndex(), forModel, now);
    EvictionEvent.tell(from.model().name());
    uploads.free(left, then);
    lanes.settle(from, now);
  }

  /**
   * Has the state of sequences leave, or else evicts others' weights, for a model whose run lacked
   * memory.
   *
   * @param all whether to evict everything that may leave, to defragment
   * @param then called when they have left, maybe by another thread
   * @return false when none can leave
   */
  boolean makeRoomForRun(ModelLane of, boolean all, Runnable then) {
    if (cache.leaveStates()) {
      then.run();
      return true;
    }
    IntPredicate stays = index -> index == of.modelIndex() || isInUse(index);
    List<WeightCache.Left> left =
        all ? List.of() : cache.leave(Math.max(1, of.model().scratchBytes()), stays);
    if (left.isEmpty()) {
      left = cache.clear(stays);
    }
    if (left.isEmpty()) {
      return false;
    }
    failures.makingRoom(of.model().name(), left.size());
    int last = left.size() - 1;
    long now = clock.nanoTime();
    evict(left.subList(0, last), of.modelIndex(), now);
    evict(left.get(last), of.modelIndex(), now, then);
    return true;
  }

  /**
   * Releases a model for good, of which no batch is on its way and which is not being loaded.
   *
   * @return completes once nothing of it is on the device, maybe on another thread; cancelled when
   *     the engine fails first
   */
  CompletableFuture<Void> release(ModelLane of) {
    WeightCache.Left left = lanes.remove(of.modelIndex());
    recent.forget(of.modelIndex());
    recentLoads.forget(of.modelIndex());
    recentEvictions.forget(of.modelIndex());
    of.close(shared);
    asked.failed(of, new IllegalStateException("the model was unloaded meanwhile"));
    if (left == null) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<Void> gone = new CompletableFuture<>();
    leaving.removeIf(CompletableFuture::isDone);
    leaving.add(gone);
    uploads.free(left, () -> gone.complete(null));
    return gone;
  }

  /** Releases a model that did not come to serve, and tells who waits for it once it has gone. */
  void refuse(ModelLane of, CompletableFuture<Void> ready, Throwable failure) {
    var unused = release(of).whenComplete((gone, ended) -> ready.completeExceptionally(failure));
  }

  /** Gives up on what is leaving: the engine ends. */
  void abandon() {
    leaving.forEach(each -> each.cancel(false));
  }
}
