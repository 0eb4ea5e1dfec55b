package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.TenantQueues;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.ReadyHeap;
import dev.roundhouse.engine.schedule.TenantShare;
import dev.roundhouse.engine.thread.OwnerThread;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Every model's lane, which of them runs next, and whose weights are loaded next. A lane with
 * requests is in one of three places: ready, and known to the discipline; held, its batch waiting
 * for more requests until a certain moment; or without its weights, which another discipline of the
 * same kind shares the link out for. Calls that run ahead of all queues (a meta's) stand in a line
 * of their own.
 */
public final class Lanes {
  private static final int FADES_IN_RUNS = 256;

  private final Discipline discipline;

  /** Of lanes with requests whose weights are neither on the device nor on their way. */
  private final Discipline toLoad;

  /** The same two where there are several tenants; null for one. */
  private final @Nullable TenantShare tenants;

  private final @Nullable TenantShare tenantsToLoad;

  private final WeightCache cache;
  private final OwnerThread owner;
  private final ReadyHeap held = new ReadyHeap();
  private final ArrayDeque<ModelLane> dirty = new ArrayDeque<>();
  private final ArrayDeque<QueuedRequest> committed = new ArrayDeque<>();

  /** Calls that run ahead, of lanes without their weights. */
  private final ArrayDeque<QueuedRequest> committedToLoad = new ArrayDeque<>();

  /** The longest recent run of any model; fades slowly unless repeated. */
  private long recentlyLongestNanos;

  private boolean holding = true;

  private @Nullable ModelLane[] lanes = new @Nullable ModelLane[16];

  /**
   * @param toLoad of the same kind as {@code discipline}: says whose weights come next
   * @param owner the only thread that may call anything here
   */
  public Lanes(Discipline discipline, Discipline toLoad, WeightCache cache, OwnerThread owner) {
    if (discipline == toLoad) {
      throw new IllegalArgumentException(
          "the device and the link need a discipline each, and have been given the same one; make a"
              + " new one each time one is asked for");
    }
    this.discipline = discipline;
    this.toLoad = toLoad;
    tenants = discipline instanceof TenantShare share ? share : null;
    tenantsToLoad = toLoad instanceof TenantShare share ? share : null;
    this.cache = cache;
    this.owner = owner;
  }

  /** Tenants that requests are of. */
  public int tenants() {
    return tenants == null ? 1 : tenants.tenants();
  }

  /** Device time that each tenant has had, by its number; none where nobody is told apart. */
  public long[] tenantNanos() {
    return tenants == null ? new long[0] : tenants.hadNanos();
  }

  public void add(ModelLane lane) {
    assert owner.isHere();
    int index = lane.modelIndex();
    if (index >= lanes.length) {
      lanes = Arrays.copyOf(lanes, Math.max(index + 1, lanes.length * 2));
    }
    lanes[index] = lane;
    discipline.register(index, lane.weight());
    toLoad.register(index, lane.weight());
  }

  /**
   * Removes a model that no longer runs, so it keeps no share of the device.
   *
   * @return what it has on the device, to be closed; null when it has nothing there
   */
  public WeightCache.@Nullable Left remove(int modelIndex) {
    assert owner.isHere();
    ModelLane lane = find(modelIndex);
    if (lane != null) {
      dirty.remove(lane);
      lanes[modelIndex] = null;
      held.remove(modelIndex);
      discipline.unregister(modelIndex);
      toLoad.unregister(modelIndex);
    }
    return cache.unregister(modelIndex);
  }

  /** Gives a model another weight, if it has a lane. */
  public void setWeight(ProgramModel model, double weight) {
    assert owner.isHere();
    ModelLane lane = find(model);
    if (lane != null) {
      lane.setWeight(weight);
      discipline.register(lane.modelIndex(), weight);
      toLoad.register(lane.modelIndex(), weight);
    }
  }

  /** The model's lane; null when it has none, though another model may have its index. */
  public @Nullable ModelLane find(Servable model) {
    ModelLane lane = model instanceof ProgramModel own ? find(own.modelIndex()) : null;
    return lane != null && lane.model() == model ? lane : null;
  }

  public ModelLane get(int slot) {
    ModelLane lane = find(slot);
    if (lane == null) {
      throw new IllegalStateException("no model in slot " + slot);
    }
    return lane;
  }

  /** The lane in a slot; null when there is none. */
  public @Nullable ModelLane in(int slot) {
    return find(slot);
  }

  private @Nullable ModelLane find(int slot) {
    return slot < lanes.length ? lanes[slot] : null;
  }

  public void forEach(Consumer<ModelLane> action) {
    for (ModelLane lane : lanes) {
      if (lane != null) {
        action.accept(lane);
      }
    }
  }

  /** Releases held batches, and stops holding. */
  public void stopHolding() {
    assert owner.isHere();
    holding = false;
    while (!held.isEmpty()) {
      release(held.first());
    }
  }

  /** As {@link #stopHolding()}, for one model, if it has a lane. */
  public void stopHolding(Servable model) {
    ModelLane lane = find(model);
    if (lane != null) {
      lane.stopHolding();
      if (held.contains(lane.modelIndex())) {
        release(lane.modelIndex());
      }
    }
  }

  private void release(int slot) {
    held.remove(slot);
    rank(get(slot));
  }

  /**
   * Takes note of a batch that is to run, on whose account, and what it is expected to take.
   *
   * @param rows that each tenant has in it; borrowed
   */
  public void chosen(ModelLane lane, int[] rows, long expectedNanos, long nowNanos) {
    if (tenants == null) {
      discipline.charge(lane.modelIndex(), expectedNanos, nowNanos);
    } else {
      tenants.charge(lane.modelIndex(), rows, expectedNanos, nowNanos);
    }
  }

  /** Takes note of what a run took, on whose account, and when it ended. */
  public void ran(ModelLane lane, long expectedNanos, long deviceNanos, long endedNanos) {
    ranUncharged(deviceNanos);
    discipline.correct(lane.modelIndex(), expectedNanos, deviceNanos, endedNanos);
  }

  /** As {@link #ran}, of a run that is charged to no model. */
  public void ranUncharged(long deviceNanos) {
    recentlyLongestNanos =
        Math.max(deviceNanos, recentlyLongestNanos - recentlyLongestNanos / FADES_IN_RUNS);
  }

  /** Takes note that a chosen batch does not run. */
  public void notRun(ModelLane lane, long expectedNanos, long nowNanos) {
    discipline.correct(lane.modelIndex(), expectedNanos, 0, nowNanos);
  }

  /** The name of what decides which model runs. */
  public String discipline() {
    return discipline.name();
  }

  /** A lane's claim on the device; null when the discipline knows none. */
  public Discipline.@Nullable Standing standing(ModelLane lane) {
    return discipline.standing(lane.modelIndex());
  }

  /** Puts a request into its model's queue. */
  public void enqueue(QueuedRequest request) {
    assert owner.isHere();
    if (request.isDone()) {
      return; // cancelled on its way; its model may be gone
    }
    ModelLane lane = get(request.modelIndex());
    lane.queue().add(request);
    if (request.isCommitted()) {
      (isOnDevice(lane) ? committed : committedToLoad).add(request);
    }
    if (lane.queue().size() == 1) {
      lane.counters().frontArrived(request.arrivalNanos());
    }
    boolean matters = lane.queue().size() == 1 || discipline.watchesQueues() || lane.holds();
    if (matters && lane.markDirty()) {
      dirty.add(lane);
    }
  }

  /** Puts a request whose batch was taken apart back where it was. */
  public void putBack(ModelLane lane, QueuedRequest request) {
    assert owner.isHere();
    lane.queue().putBack(request);
    if (request.isCommitted()) {
      committed.remove(request);
      committed.addFirst(request);
    }
    if (lane.markDirty()) {
      dirty.add(lane);
    }
  }

  /** True when no lane could run before a held batch is due. */
  public boolean isIdle() {
    return dirty.isEmpty() && committed.isEmpty() && discipline.isEmpty();
  }

  /** True when a model that is not this lane's could be the next to run. */
  public boolean isAnotherReady(ModelLane than, long nowNanos) {
    return !committed.isEmpty()
        || discipline.hasOther(than.modelIndex())
        || held.firstKey() <= nowNanos
        || dirty.size() > (than.isDirty() ? 1 : 0);
  }

  /** When the next held batch is due; {@link Long#MAX_VALUE} when none is held. */
  public long nextReleaseNanos() {
    return held.firstKey();
  }

  /** True while the lane's batch is held for more requests. */
  public boolean isHeld(ModelLane lane) {
    return held.contains(lane.modelIndex());
  }

  /** Until when the lane's batch is held, if it {@linkplain #isHeld is}. */
  public long heldUntilNanos(ModelLane lane) {
    return held.key(lane.modelIndex());
  }

  /** Finds the place of every lane whose queue has changed, and of held ones that are due. */
  public void place(long nowNanos) {
    assert owner.isHere();
    settleDirty(nowNanos);
    while (held.firstKey() <= nowNanos) {
      release(held.first());
    }
  }

  /** The lane to run next, whose queue is not empty; null when none may run now. */
  public @Nullable ModelLane next(long nowNanos) {
    place(nowNanos);
    ModelLane ahead = nextCommitted();
    if (ahead != null) {
      return ahead;
    }
    if (discipline.isEmpty()) {
      return null;
    }
    ModelLane chosen = get(discipline.choose());
    if (tenants != null) {
      lead(chosen, tenants.chosenTenant());
    }
    return chosen;
  }

  private static void lead(ModelLane lane, int tenant) {
    if (lane.queue() instanceof TenantQueues queues) {
      queues.lead(tenant);
    }
  }

  /**
   * The lanes that could run, in the order in which they would be chosen now, {@link #next} first;
   * after {@link #place}.
   */
  public Line line() {
    assert owner.isHere();
    Set<ModelLane> order = new LinkedHashSet<>();
    committed.stream()
        .filter(Lanes::hasRowsLeft)
        .forEach(call -> order.add(get(call.modelIndex())));
    int ahead = order.size();
    for (int slot : discipline.order()) {
      order.add(get(slot));
    }
    return new Line(List.copyOf(order), ahead, discipline.criterion());
  }

  /**
   * Lanes in order.
   *
   * @param ahead how many go first because metas wait for them
   * @param criterion of the others' order
   */
  public record Line(List<ModelLane> lanes, int ahead, String criterion) {}

  /** As {@link #line}, of the lanes whose weights nobody brings yet: {@link #nextToLoad} first. */
  public List<ModelLane> lineToLoad() {
    assert owner.isHere();
    Set<ModelLane> order = new LinkedHashSet<>();
    for (QueuedRequest call : committedToLoad) {
      ModelLane lane = call.isDone() ? null : get(call.modelIndex());
      if (lane != null && !lane.isLoading()) {
        order.add(lane);
      }
    }
    for (int slot : toLoad.order()) {
      order.add(get(slot));
    }
    return List.copyOf(order);
  }

  private void settleDirty(long nowNanos) {
    for (ModelLane lane = dirty.poll(); lane != null; lane = dirty.poll()) {
      lane.clearDirty();
      settle(lane, nowNanos);
    }
  }

  /**
   * The lane whose weights are to be brought to the device next, because requests wait for it; null
   * when there is none.
   */
  public @Nullable ModelLane nextToLoad(long nowNanos) {
    assert owner.isHere();
    settleDirty(nowNanos);
    committedToLoad.removeIf(QueuedRequest::isDone);
    for (QueuedRequest call : committedToLoad) {
      ModelLane lane = get(call.modelIndex());
      if (!lane.isLoading()) {
        return lane;
      }
    }
    return toLoad.isEmpty() ? null : get(toLoad.choose());
  }

  /** True when somebody waits for weights that nobody brings yet. */
  public boolean waitsForWeights() {
    return !toLoad.isEmpty() || !committedToLoad.isEmpty();
  }

  /** True when a call that runs ahead waits for the lane. */
  public boolean isAwaitedByCommitted(ModelLane lane) {
    return isOf(lane, committed) || isOf(lane, committedToLoad);
  }

  private static boolean isOf(ModelLane lane, ArrayDeque<QueuedRequest> calls) {
    for (QueuedRequest call : calls) {
      if (call.modelIndex() == lane.modelIndex() && !call.isDone()) {
        return true;
      }
    }
    return false;
  }

  /** Takes note that a lane's weights are on their way, on its account. */
  public void loadBegun(ModelLane lane, long expectedNanos, long nowNanos) {
    assert owner.isHere();
    lane.setLoading(true);
    toLoad.charge(lane.modelIndex(), expectedNanos, nowNanos);
    toLoad.notReady(lane.modelIndex());
  }

  /** Takes note of what a load took, whether or not it has brought the weights. */
  public void loadEnded(ModelLane lane, long expectedNanos, long nanos, long nowNanos) {
    assert owner.isHere();
    lane.setLoading(false);
    toLoad.correct(lane.modelIndex(), expectedNanos, nanos, nowNanos);
    if (isOnDevice(lane)) {
      lane.weightsArrived(nanos, nowNanos);
      for (QueuedRequest call : committedToLoad) {
        if (call.modelIndex() == lane.modelIndex() && !call.isDone()) {
          committed.add(call);
        }
      }
      committedToLoad.removeIf(call -> call.modelIndex() == lane.modelIndex());
    }
    settle(lane, nowNanos);
  }

  /** The lane of the first call that runs ahead: until the last of its rows has been taken. */
  private @Nullable ModelLane nextCommitted() {
    for (QueuedRequest call = committed.peek(); call != null; call = committed.peek()) {
      if (hasRowsLeft(call)) {
        ModelLane lane = get(call.modelIndex());
        lead(lane, call.tenant());
        return lane;
      }
      committed.remove();
    }
    return null;
  }

  private static boolean hasRowsLeft(QueuedRequest call) {
    return !call.isDone() && call.rowsTaken() < call.rows();
  }

  /** Finds a lane's place again after its queue has changed. */
  public void settle(ModelLane lane, long nowNanos) {
    assert owner.isHere();
    if (find(lane.modelIndex()) != lane) {
      return; // it is gone
    }
    ModelQueue queue = lane.queue();
    queue.dropEnded();
    if (queue.isEmpty()) {
      held.remove(lane.modelIndex());
      discipline.notReady(lane.modelIndex());
      if (!isOnDevice(lane)) {
        toLoad.notReady(lane.modelIndex());
      }
      cache.unwanted(lane.modelIndex());
      noteFront(lane);
      return;
    }
    noteFront(lane);
    if (!isOnDevice(lane)) {
      held.remove(lane.modelIndex());
      discipline.notReady(lane.modelIndex());
      if (!lane.isLoading()) {
        rankToLoad(lane);
      }
      return;
    }
    cache.wanted(lane.modelIndex(), queue.get(0).arrivalNanos());
    if (holding && lane.holds()) {
      long until = lane.heldUntilNanos(recentlyLongestNanos);
      if (until > nowNanos) {
        discipline.notReady(lane.modelIndex());
        held.put(lane.modelIndex(), until, 0);
        return;
      }
      held.remove(lane.modelIndex());
    }
    rank(lane);
  }

  /** Notes since when the front of a lane's queue has waited. */
  public void noteFront(ModelLane lane) {
    ModelQueue queue = lane.queue();
    lane.counters()
        .frontArrived(queue.isEmpty() ? ModelCounters.NONE_WAITS : queue.get(0).arrivalNanos());
  }

  private boolean isOnDevice(ModelLane lane) {
    return cache.isOnDevice(lane.modelIndex());
  }

  private void rankToLoad(ModelLane lane) {
    ModelQueue queue = lane.queue();
    if (tenantsToLoad != null && queue instanceof TenantQueues queues) {
      rank(
          tenantsToLoad,
          lane.modelIndex(),
          queues,
          tenantsToLoad.modelsWatchQueues(),
          cache.expectedNanos(lane.weights()));
      return;
    }
    toLoad.ready(
        lane.modelIndex(),
        new Discipline.Front(
            queue.get(0).arrivalNanos(),
            toLoad.watchesQueues() ? queue.earliestDeadlineNanos() : InferenceRequest.NO_DEADLINE,
            cache.expectedNanos(lane.weights())));
  }

  /** Tells where a lane stands for each tenant. */
  private static void rank(
      TenantShare share, int slot, TenantQueues queues, boolean watches, double costNanos) {
    for (int tenant = 0; tenant < share.tenants(); tenant++) {
      ModelQueue queue = queues.of(tenant);
      if (queue.isEmpty()) {
        share.notReady(slot, tenant);
      } else {
        share.ready(
            slot,
            tenant,
            new Discipline.Front(
                queue.get(0).arrivalNanos(),
                watches ? queue.earliestDeadlineNanos() : InferenceRequest.NO_DEADLINE,
                costNanos));
      }
    }
  }

  /** Tells the discipline where a lane stands; its queue is not empty. */
  private void rank(ModelLane lane) {
    ModelQueue queue = lane.queue();
    if (tenants != null && queue instanceof TenantQueues queues) {
      boolean watches = tenants.modelsWatchQueues();
      rank(tenants, lane.modelIndex(), queues, watches, watches ? lane.rowCostNanos() : 1);
      return;
    }
    // Only a discipline that watches queues looks at more than the front.
    boolean watches = discipline.watchesQueues();
    discipline.ready(
        lane.modelIndex(),
        new Discipline.Front(
            queue.get(0).arrivalNanos(),
            watches ? queue.earliestDeadlineNanos() : InferenceRequest.NO_DEADLINE,
            watches ? lane.rowCostNanos() : 1));
  }
}
