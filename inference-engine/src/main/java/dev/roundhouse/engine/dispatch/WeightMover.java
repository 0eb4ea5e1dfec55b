package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.lane.QueueDrops;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.recording.LoadEvent;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.residency.WeightLoad;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads awaited weights to the device while other models' batches run, and evicts others for them
 * or for a run that lacks memory. Two loads at a time, so that the link goes from one to the next
 * without a pause, and a much smaller one beside them.
 */
final class WeightMover {
  private static final Logger log = LoggerFactory.getLogger(WeightMover.class);
  private static final int AT_A_TIME = 2;
  private static final int MOST = 4;

  /** Most attempts at a load that finds too little device memory. */
  private static final int MOST_TRIES = 3;

  /** How many times smaller a load is that is let in beside {@link #AT_A_TIME} others. */
  private static final int SMALLER = 8;

  private final OwnerThread owner;
  private final Lanes lanes;
  private final WeightCache cache;
  private final Ledger ledger;
  private final Uploads uploads;
  private final BatchFormer former;
  private final QueueDrops drops;
  private final Failures failures;
  private final WarmUp warmUp;
  private final RecentRuns recent;
  private final OperatorLoads asked = new OperatorLoads();
  private final WeightEvictions evictions;
  private final RoomForRuns room;
  private final NanoClock clock;
  private final LinkTime link;
  private final boolean selfManaged;
  private final List<Begun> begun = new ArrayList<>(MOST);

  /** Weights that runs hold for calls to come. */
  private final ArrayDeque<ModelLane> ahead = new ArrayDeque<>();

  private boolean warmedLast;

  /** For whose weights there was no room when somebody last looked. */
  private final List<ModelLane> withoutRoom = new ArrayList<>(MOST);

  WeightMover(DispatchParts parts, Uploads uploads, boolean selfManaged) {
    this.uploads = uploads;
    this.selfManaged = selfManaged;
    owner = parts.owner();
    lanes = parts.lanes();
    cache = parts.cache();
    ledger = parts.ledger();
    former = parts.former();
    drops = parts.drops();
    failures = parts.failures();
    warmUp = parts.warmUp();
    recent = parts.recentLoads();
    clock = parts.clock();
    link = new LinkTime(clock);
    evictions = new WeightEvictions(parts, uploads, asked);
    room = new RoomForRuns(evictions);
  }

  /**
   * Sees loads end and begins others; never waits.
   *
   * @param news whether anything has happened since the last call: a load for which there was no
   *     room then is not tried again before
   * @return how many things it did
   * @throws DeviceException when the device is lost, which is the end of the engine
   */
  int turn(boolean news) {
    assert owner.isHere();
    int work = uploads.turn();
    for (WeightLoad load = uploads.ended(); load != null; load = uploads.ended()) {
      onEnded(load);
      work++;
    }
    if (cache.hasAbsent() && (news || work > 0)) {
      long now = clock.nanoTime();
      withoutRoom.clear();
      while (begun.size() < MOST && beginNext(now)) {
        work++;
      }
    }
    return work;
  }

  /**
   * Takes a lane in, whose weights are not on the device yet.
   *
   * @throws DeviceException OUT_OF_MEMORY when they are to be pinned and do not fit beside what is
   */
  void add(ModelLane of, boolean pinned) {
    assert owner.isHere();
    cache.register(of.modelIndex(), of.weights(), of.model().scratchBytes());
    if (pinned) {
      cache.pin(of.modelIndex());
    } else if (cache.isTooLarge(of.modelIndex())) {
      log.warn(
          "the {} bytes of weights of model '{}' are more than the {} bytes for weights on the"
              + " device: they come only when no others are there",
          of.weights().byteSize(),
          of.model().name(),
          cache.poolBytes());
    }
  }

  /** A batch of the lane runs. */
  void used(ModelLane of, long nowNanos) {
    cache.used(of.modelIndex(), nowNanos);
  }

  // --- beginning

  private boolean beginNext(long now) {
    if (beginAsked(now) || beginAhead(now)) {
      return true;
    }
    warmedLast = !warmedLast;
    return warmedLast
        ? beginForWarmUp(now) || beginForRequests(now)
        : beginForRequests(now) || beginForWarmUp(now);
  }

  private boolean beginAsked(long now) {
    OperatorLoads.Asked next = asked.next();
    return next != null && begin(next.lane(), next.sinceNanos(), now);
  }

  private boolean beginAhead(long now) {
    for (ModelLane next = ahead.peek(); next != null; next = ahead.peek()) {
      if (isWantedAhead(next) && begin(next, now, now)) {
        return true;
      }
      ahead.remove(); // who needs it after all asks again, by its call
    }
    return false;
  }

  private static boolean isWantedAhead(ModelLane lane) {
    return lane.weights().isHeld() && !lane.isResident() && !lane.isLoading();
  }

  private boolean beginForWarmUp(long now) {
    ModelLane next = warmUpToLoad();
    return next != null && begin(next, warmUp.nextSinceNanos(), now);
  }

  private @Nullable ModelLane warmUpToLoad() {
    ModelLane next = warmUp.next();
    return next == null || next.isResident() || next.isLoading() ? null : next;
  }

  private boolean beginForRequests(long now) {
    ModelLane next = lanes.nextToLoad(now);
    if (!selfManaged) {
      refuse(next, now);
      return false;
    }
    while (next != null && isGivenUp(next, now)) {
      next = lanes.nextToLoad(now);
    }
    return next != null && begin(next, sinceNanos(next), now);
  }

  private void refuse(@Nullable ModelLane first, long now) {
    for (ModelLane next = first; next != null; next = lanes.nextToLoad(now)) {
      drops.all(next, Failures.notResident(next.model().name()));
      lanes.settle(next, now);
    }
  }

  /** Ends who would be answered too late; true when nobody is left to bring the weights for. */
  private boolean isGivenUp(ModelLane next, long now) {
    former.dropHopeless(next, next.weights().leastWaitNanos(now), now);
    boolean given = next.queue().isEmpty();
    if (given) {
      lanes.settle(next, now);
    }
    return given;
  }

  /** Since when somebody has waited for the lane; unbounded for a call that runs ahead. */
  private long sinceNanos(ModelLane of) {
    return lanes.isAwaitedByCommitted(of) ? Long.MIN_VALUE / 2 : of.queue().get(0).arrivalNanos();
  }

  private boolean begin(ModelLane next, long sinceNanos, long now) {
    if (!isLetIn(next)) {
      return false;
    }
    List<WeightCache.Left> left =
        cache.makeRoom(next.modelIndex(), sinceNanos, now, evictions::isInUse);
    if (left == null) {
      withoutRoom.add(next);
      return false;
    }
    evictions.evict(left, next.modelIndex(), now);
    start(next, 1, now);
    return true;
  }

  private boolean isLetIn(ModelLane next) {
    if (begun.size() < AT_A_TIME) {
      return true;
    }
    long most = next.weights().byteSize() * SMALLER;
    return begun.stream().allMatch(other -> other.load.weights().byteSize() >= most);
  }

  private void start(ModelLane next, int tries, long now) {
    WeightLoad load = new WeightLoad(next.modelIndex(), next.weights());
    long expected = cache.expectedNanos(next.weights());
    begun.add(new Begun(load, expected, tries));
    link.busy(now);
    cache.begin(next.modelIndex());
    lanes.loadBegun(next, expected, now);
    uploads.begin(load);
  }

  // --- the end of a load

  private void onEnded(WeightLoad load) {
    Begun of = begun.stream().filter(each -> each.load == load).findFirst().orElseThrow();
    begun.remove(of);
    if (begun.isEmpty()) {
      link.free(load.endedNanos());
    }
    cache.ended(load);
    ModelLane loaded = lanes.get(load.modelIndex());
    Throwable failure = load.failure();
    ledger.add(loaded.counters(), Metric.WEIGHT_LOAD, load.nanos());
    recent.add(load.modelIndex(), load.nanos(), load.endedNanos());
    LoadEvent.tell(loaded.model().name(), failure != null, load.nanos());
    if (failure == null) {
      ledger.add(loaded.counters(), Metric.WEIGHT_LOADS);
      lanes.loadEnded(loaded, of.expectedNanos, load.nanos(), load.endedNanos());
      asked.arrived(loaded);
      return;
    }
    if (Failures.isLost(failure) && failure instanceof DeviceException lost) {
      throw lost;
    }
    lanes.loadEnded(loaded, of.expectedNanos, load.nanos(), load.endedNanos());
    if (of.tries == MOST_TRIES || !Failures.isOutOfMemory(failure) || !retry(loaded, of.tries)) {
      onFailed(loaded, failure);
    }
  }

  /**
   * The device may have less room than the budget says: first as much again is evicted, then all
   * that may leave, to defragment.
   */
  private boolean retry(ModelLane of, int tries) {
    long now = clock.nanoTime();
    if (cache.leaveStates()) {
      start(of, tries + 1, now);
      return true;
    }
    List<WeightCache.Left> left =
        tries == 1 ? cache.leave(of.weights().byteSize(), evictions::isInUse) : List.of();
    if (left.isEmpty()) {
      left = cache.clear(evictions::isInUse);
    }
    if (left.isEmpty()) {
      return false;
    }
    failures.makingRoom(of.model().name(), left.size());
    evictions.evict(left, of.modelIndex(), now);
    start(of, tries + 1, now);
    return true;
  }

  /** Out of memory ends the request that asked; any other failure ends all that wait. */
  private void onFailed(ModelLane of, Throwable failure) {
    if (asked.failed(of, failure)) {
      cache.unpin(of.modelIndex());
    }
    if (warmUp.next() == of) {
      evictions.refuse(of, warmUp.giveUp(), failure);
      return;
    }
    Outcome.Failed outcome = failures.notLoaded(of.model().name(), failure);
    if (Failures.isOutOfMemory(failure)) {
      drops.first(of, outcome);
    } else {
      drops.all(of, outcome);
    }
    lanes.settle(of, clock.nanoTime());
  }

  // --- what the operator asks

  /** Keeps a lane's weights on the device, or lets them leave again. */
  void pin(@Nullable ModelLane of, Command.Pin command) {
    assert owner.isHere();
    if (of == null) {
      command.done().completeExceptionally(new IllegalStateException("the model is not ready"));
      return;
    }
    try {
      if (command.pinned()) {
        cache.pin(of.modelIndex());
      } else {
        cache.unpin(of.modelIndex());
        evictUnlessManagedHere(of);
      }
    } catch (DeviceException e) {
      command.done().completeExceptionally(e);
      return;
    }
    lanes.settle(of, clock.nanoTime());
    if (command.pinned() && !of.isResident()) {
      asked.add(of, command.done(), clock.nanoTime());
    } else {
      command.done().complete(null);
    }
  }

  /** Brings the weights of a lane that a run is about to call, unless they are the operator's. */
  void bringAhead(@Nullable ModelLane of) {
    assert owner.isHere();
    if (selfManaged && of != null && !of.isResident()) {
      ahead.add(of);
    }
  }

  /** A model has been warmed up. */
  void warmedUp(ModelLane of) {
    evictUnlessManagedHere(of);
  }

  private void evictUnlessManagedHere(ModelLane of) {
    if (!selfManaged) {
      evictions.evict(
          cache.clear(index -> index != of.modelIndex() || evictions.isInUse(index)),
          RecentEvictions.NOBODY,
          clock.nanoTime());
    }
  }

  /** Evicts all that may leave, and reloads some. */
  void compact(Command.Compact command) {
    assert owner.isHere();
    long now = clock.nanoTime();
    evictions.evict(cache.clear(evictions::isInUse), RecentEvictions.NOBODY, now);
    List<CompletableFuture<Void>> reloads = new ArrayList<>();
    for (ProgramModel model : command.reload()) {
      ModelLane reload = lanes.find(model);
      if (reload != null && !reload.isResident()) {
        CompletableFuture<Void> there = new CompletableFuture<>();
        asked.add(reload, there, now);
        reloads.add(there);
      }
    }
    var unused =
        CompletableFuture.allOf(reloads.toArray(CompletableFuture<?>[]::new))
            .whenComplete(
                (done, failure) -> {
                  if (failure == null) {
                    command.done().complete(new Compacted(reloads.size(), cache.residentBytes()));
                  } else {
                    command.done().completeExceptionally(failure);
                  }
                });
  }

  /** Gives up on operator requests and evictions: the loop ends. */
  void abandon() {
    assert owner.isHere();
    asked.abandon();
    evictions.abandon();
  }

  // --- for runs, and for models that go

  /**
   * Evicts weights for a model whose run lacked memory.
   *
   * @return false when none can leave, or that did not help: the run has failed
   */
  boolean makeRoom(ModelLane of) {
    assert owner.isHere();
    return room.make(of);
  }

  /** While true, start no run. */
  boolean isMakingRoom() {
    return room.isMaking();
  }

  /** A run has found enough memory. */
  void ran() {
    room.ran();
  }

  /** As {@link WeightEvictions#release}. */
  CompletableFuture<Void> release(ModelLane of) {
    assert owner.isHere();
    ahead.remove(of);
    withoutRoom.remove(of);
    return evictions.release(of);
  }

  /** As {@link WeightEvictions#refuse}. */
  void refuse(ModelLane of, CompletableFuture<Void> ready, Throwable failure) {
    assert owner.isHere();
    evictions.refuse(of, ready, failure);
  }

  // --- what others may know

  /** Any thread. */
  long linkNanos() {
    return link.nanos();
  }

  DispatchState.CacheState state() {
    return new DispatchState.CacheState(
        cache.policy(),
        cache.poolBytes(),
        cache.scratchBytes(),
        cache.residentBytes(),
        cache.pinnedBytes(),
        cache.loadingBytes());
  }

  DispatchState.WeightsState stateOf(ModelLane of) {
    long now = clock.nanoTime();
    long used = cache.lastUsedNanos(of.modelIndex());
    return new DispatchState.WeightsState(
        placeOf(of),
        cache.isPinned(of.modelIndex()),
        of.weights().byteSize(),
        used == Long.MIN_VALUE ? -1 : now - used,
        cache.nextUseNanos(of.modelIndex(), now));
  }

  static Place placeOf(ModelLane of) {
    return of.isResident() ? Place.RESIDENT : of.isLoading() ? Place.LOADING : Place.ABSENT;
  }

  /**
   * Whose weights come in which order, those on their way first; as {@link #beginNext} goes about
   * it.
   */
  List<OnLink> line() {
    assert owner.isHere();
    List<OnLink> line = new ArrayList<>();
    long nanos = 0;
    boolean stuck = false;
    for (Begun each : begun) {
      nanos += each.leftNanos();
      ModelLane lane = lanes.get(each.load.modelIndex());
      line.add(new OnLink(lane, true, each.load.left(), false, nanos));
    }
    Set<ModelLane> waiting = new LinkedHashSet<>(asked.line());
    ahead.stream().filter(WeightMover::isWantedAhead).forEach(waiting::add);
    List<ModelLane> forRequests = selfManaged ? lanes.lineToLoad() : List.of();
    if (warmedLast && !forRequests.isEmpty()) {
      waiting.add(forRequests.getFirst());
    }
    ModelLane warming = warmUpToLoad();
    if (warming != null) {
      waiting.add(warming);
    }
    waiting.addAll(forRequests);
    for (ModelLane each : waiting) {
      boolean noRoom = withoutRoom.contains(each);
      stuck |= noRoom;
      nanos += cache.expectedNanos(each.weights());
      long left = each.weights().byteSize();
      line.add(new OnLink(each, false, left, noRoom, stuck ? Waiting.UNKNOWN : nanos));
    }
    return line;
  }

  /**
   * A place in the order in which weights come.
   *
   * @param begun whether they are on their way
   * @param leftBytes that are not there yet
   * @param noRoom whether there was none for them when last looked for
   * @param inNanos until they are there
   */
  record OnLink(ModelLane lane, boolean begun, long leftBytes, boolean noRoom, long inNanos) {}

  /** True when {@link #turn} would see a load end. */
  boolean hasEnded() {
    return uploads.hasEnded();
  }

  /** True while weights are on their way, or somebody waits for some. */
  boolean isBusy() {
    return !begun.isEmpty()
        || !asked.isEmpty()
        || lanes.waitsForWeights()
        || uploads.waitsForTurn();
  }

  /** Waits for the link, in an engine that is stepped; false, at once, when nothing is on it. */
  boolean await() {
    return uploads.await();
  }

  /** Gives up what is under way and frees it. */
  void close() {
    assert owner.isHere();
    uploads.close();
  }

  /**
   * @param tries this one included
   */
  private record Begun(WeightLoad load, long expectedNanos, int tries) {
    long leftNanos() {
      long bytes = load.weights().byteSize();
      return bytes == 0 ? 0 : Math.round((double) expectedNanos * load.left() / bytes);
    }
  }
}
