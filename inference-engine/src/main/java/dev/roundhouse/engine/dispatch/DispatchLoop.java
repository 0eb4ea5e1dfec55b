package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchAssembler;
import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.AnswerPool;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.lane.SharedParts;
import dev.roundhouse.engine.lane.WaitingEnd;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.residency.LoadLane;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Takes requests, chooses a model, runs a batch of it, answers the batch before; again and again.
 * The only caller of {@link Device#execute}. Runs no user code, no compile and no I/O, and never
 * waits for the device.
 *
 * <p>A pipeline of three {@link BatchSlot}s: while one batch runs, the next is armed and the one
 * before is answered. One run at a time. What goes wrong with a batch ends that batch's requests;
 * whatever else is thrown leaves {@link #doWork}, and the engine with it.
 *
 * <p>Not thread-safe: one thread calls everything here, {@code dispatch} in production or a test.
 * Others reach it through {@link DispatchProxy}.
 */
public final class DispatchLoop {
  private static final int SLOTS = 3;
  private static final int REQUESTS_PER_TURN = 256;

  /** Copying less than this takes less time than to measure it; it counts as part of the run. */
  private static final long UNTIMED_COPY_BYTES = 16 << 10;

  /** How often something is looked at that does not tell when it is over. */
  private static final long LOOK_NANOS = 1_000_000;

  private final Device device;
  private final boolean runsOnHost;
  private final Discipline discipline;
  private final NanoClock clock;
  private final Ingress<QueuedRequest> requests;
  private final Ingress<Command> commands;
  private final Queue<Command.Retire> retired;
  private final Retirements retirements;
  private final Accounting accounting;
  private final Lanes lanes;
  private final WaitingEnd waitingEnd;
  private final BatchFormer former;
  private final BatchAssembler assembler;
  private final Failures failures = new Failures();
  private final Delivery delivery;
  private final BatchEnd batchEnd;
  private final @Nullable OutputsThread outputs;
  private final Loads loads;
  private final Departures departures;
  private final RoomForRuns room;
  private final WarmUp warmUp = new WarmUp();
  private final SharedParts shared = new SharedParts();
  private final DeviceCalls calls = new DeviceCalls();
  private RunMark mark = RunMark.NONE;
  private final LookAhead lookAhead = new LookAhead();
  private final BatchSlot[] slots = new BatchSlot[SLOTS];

  /** Where a batch is made up that may take the place of the armed one; empty in between. */
  private final BatchSlot draft;

  private final RunOnDevice running = new RunOnDevice();
  private @Nullable BatchSlot armed;
  private @Nullable BatchSlot ended;
  private @Nullable Throwable endedBy;

  /** True when something has happened since the armed batch was chosen that may change it. */
  private boolean newsSinceArming;

  private boolean warmedLast;

  /** Set by a caller who takes back a request that may be in the armed batch. */
  private volatile boolean cancelled;

  // Of the cycle that measures itself: a cycle runs from one choice to the next.
  private boolean cycling;
  private long cycleStartNanos;
  private volatile long longestCycleNanos;

  DispatchLoop(
      Device device,
      Discipline discipline,
      Discipline toLoad,
      Residency residency,
      NanoClock clock,
      Accounting accounting,
      ByteBudget budget,
      AnswerPool pool,
      @Nullable OutputsThread outputs,
      @Nullable WeightsThread weights,
      Ingress<QueuedRequest> requests,
      Ingress<Command> commands,
      Queue<Command.Retire> retired) {
    this.device = device;
    this.discipline = discipline;
    this.clock = clock;
    this.accounting = accounting;
    this.requests = requests;
    this.commands = commands;
    this.retired = retired;
    this.outputs = outputs;
    for (int i = 0; i < SLOTS; i++) {
      slots[i] = new BatchSlot(i, device);
    }
    draft = new BatchSlot(SLOTS, device);
    WeightCache cache = residency.newCache();
    lanes = new Lanes(discipline, toLoad, cache);
    waitingEnd = new WaitingEnd(accounting);
    former = new BatchFormer(waitingEnd, lanes, discipline.shedsByCost());
    LoadLane loadLane = residency.newLane(clock);
    AskedLoads asked = new AskedLoads();
    departures =
        new Departures(
            lanes, cache, loadLane, weights, asked, warmUp, shared, slots, failures, clock);
    loads =
        new Loads(
            lanes,
            cache,
            loadLane,
            weights,
            former,
            waitingEnd,
            failures,
            warmUp,
            asked,
            departures,
            clock,
            residency.isSelfManaged());
    room = new RoomForRuns(departures);
    retirements = new Retirements(lanes, departures, slots);
    runsOnHost = device.description().onHostProcessors();
    delivery = new Delivery(accounting, budget, pool, failures, clock, true, device);
    batchEnd = new BatchEnd(clock, lanes, loads, departures, warmUp, delivery, failures, outputs);
    assembler =
        new BatchAssembler(
            (slot, member, cause) ->
                delivery.fail(
                    slot, member, failures.unreadable(slot.lane().model().name(), cause)));
    if (outputs != null) {
      outputs.open(new Delivery(accounting, budget, pool, failures, clock, false, device), SLOTS);
    }
  }

  /**
   * Does what can be done without waiting.
   *
   * @return how many things it did; 0 when there was nothing, or the device is busy
   */
  public int doWork() {
    int work = takeRequests() + takeCommands() + takeDelivered();
    if (cancelled) {
      work += dropCancelled();
    }
    BatchSlot run = running.slot();
    if (run != null && running.isOver()) {
      onRunEnded(run);
      work++;
    }
    if (running.slot() == null) {
      work += startNext();
    }
    // The device is busy again before anybody is answered.
    work += answerEnded();
    run = running.slot();
    if (run != null) {
      work += armNext(run);
    }
    work += retirements.finish(); // makes room for what is loaded next
    work += loads.turn(work > 0);
    cycling &= work > 0;
    return work;
  }

  // --- what comes in

  private int takeRequests() {
    int taken = 0;
    while (taken < REQUESTS_PER_TURN) {
      QueuedRequest request = requests.poll();
      if (request == null) {
        break;
      }
      lanes.enqueue(request);
      newsSinceArming |= armed != null && former.mayChange(armed, request);
      taken++;
    }
    return taken;
  }

  private int takeCommands() {
    int work = 0;
    for (Command next = commands.poll(); next != null; next = commands.poll()) {
      switch (next) {
        case Command.Activate activate -> onActivate(activate);
        case Command.SetWeight change -> lanes.setWeight(change.model(), change.weight());
        case Command.StopHolding stop -> lanes.stopHolding();
        case Command.Pin pin -> loads.pin(lanes.find(pin.model()), pin);
        case Command.Compact compact -> loads.compact(compact);
        case Command.Describe describe -> describe.state().complete(state());
      }
      newsSinceArming |= !(next instanceof Command.Describe);
      work++;
    }
    for (Command.Retire next = retired.poll(); next != null; next = retired.poll()) {
      retirements.add(next);
      work++;
    }
    return work;
  }

  private void onActivate(Command.Activate activate) {
    for (int i = 0; i < activate.larger().size(); i++) {
      slots[i].offer(activate.larger().get(i));
    }
    ModelLane lane;
    try {
      lane = new ModelLane(activate.model(), activate.options(), shared);
    } catch (RuntimeException | Error e) {
      activate.warmedUp().completeExceptionally(e);
      return;
    }
    try {
      lanes.add(lane);
      loads.add(lane, activate.options().pinned());
      warmUp.add(lane, activate.warmedUp(), clock.nanoTime());
    } catch (RuntimeException | Error e) {
      departures.refuse(lane, activate.warmedUp(), e);
    }
  }

  private int takeDelivered() {
    if (outputs == null) {
      return 0;
    }
    int work = 0;
    for (BatchSlot slot = outputs.delivered(); slot != null; slot = outputs.delivered()) {
      batchEnd.free(slot);
      work++;
    }
    return work;
  }

  /** Ends members of the armed batch whose callers have left. */
  private int dropCancelled() {
    cancelled = false;
    BatchSlot slot = armed;
    if (slot != null && !slot.isWarmUp() && delivery.dropCancelled(slot)) {
      newsSinceArming = true;
      return 1;
    }
    return 0;
  }

  // --- choosing, and making a batch up

  /** When the next batch is to be armed; far away when there is none, or no slot for it. */
  private long armAtNanos(BatchSlot run) {
    if (armed != null || lookAhead.isShort(run) || freeSlot() == null) {
      return Long.MAX_VALUE;
    }
    boolean ready = !lanes.isIdle() || warmUp.wantsRun();
    long readyAt = ready ? Long.MIN_VALUE : lanes.nextReleaseNanos();
    return Math.max(readyAt, lookAhead.attendAtNanos(run));
  }

  private int armNext(BatchSlot run) {
    long moment = armAtNanos(run);
    if (moment == Long.MAX_VALUE) {
      return 0;
    }
    long now = clock.nanoTime();
    if (now < moment) {
      return 0;
    }
    BatchSlot slot = formInFreeSlot(now);
    if (slot == null) {
      return 0;
    }
    if (assembleAndArm(slot)) {
      armed = slot;
      newsSinceArming = false;
      if (!slot.isWarmUp()) {
        slot.lane().counters().frontArrived(slot.oldestArrivalNanos()); // they wait all the same
      }
    }
    lookAhead.armedIn(clock.nanoTime() - now);
    return 1;
  }

  /** Makes the next batch up in a free slot, without its inputs; null when there is none to run. */
  private @Nullable BatchSlot formInFreeSlot(long now) {
    BatchSlot slot = freeSlot();
    if (slot == null) {
      return null;
    }
    boolean warms = warmUp.wantsRun() && warmUp.nextStagingBytes() <= slot.staging().byteSize();
    if (warms && (lanes.isIdle() || !warmedLast)) {
      warmedLast = true;
      warmUp.begin(slot);
      // While nobody else wants the device, warming up takes it from nobody.
      boolean charges = !lanes.isIdle();
      batchEnd.chargeWarmUp(charges);
      if (charges) {
        lanes.chosen(slot.lane(), slot.expectedNanos(), now);
      }
      return slot;
    }
    warmedLast = false;
    return form(slot, now) ? slot : null;
  }

  /** Makes the next batch of requests up in a slot; false when there is none to run. */
  private boolean form(BatchSlot slot, long now) {
    if (lanes.isIdle() && lanes.nextReleaseNanos() == Long.MAX_VALUE) {
      return false;
    }
    measureCycle(now);
    for (ModelLane lane = lanes.next(now); lane != null; lane = lanes.next(now)) {
      former.form(slot, lane, now);
      if (slot.size() > 0) {
        lanes.chosen(lane, slot.expectedNanos(), now);
        lanes.settle(lane, now);
        return true;
      }
      lanes.settle(lane, now);
    }
    return false;
  }

  /** False when nobody is left in the batch, or it cannot be run; the slot is free then. */
  private boolean assembleAndArm(BatchSlot slot) {
    boolean timed = slot.program().layout().stagingBytes() > UNTIMED_COPY_BYTES;
    long began = timed ? clock.nanoTime() : 0;
    try {
      assembler.assemble(slot);
      if (!slot.isWarmUp() && slot.live() == 0) {
        batchEnd.giveUp(slot);
        return false;
      }
      slot.arm(device);
      slot.tookForInputs(timed ? clock.nanoTime() - began : 0);
      return true;
    } catch (Throwable e) {
      failToStart(slot, e);
      return false;
    }
  }

  private @Nullable BatchSlot freeSlot() {
    for (BatchSlot slot : slots) {
      if (slot.isFree() && slot != ended) {
        return slot;
      }
    }
    return null;
  }

  // --- running

  private int startNext() {
    if (room.isMaking()) {
      return 0;
    }
    BatchSlot slot = armed;
    armed = null;
    long now = clock.nanoTime();
    if (slot != null && (newsSinceArming || former.isTooLateForOne(slot, now))) {
      slot = chooseAgain(slot, now);
    } else if (slot == null) {
      slot = formInFreeSlot(now);
      if (slot == null) {
        return 0;
      }
      if (!assembleAndArm(slot)) {
        return 1;
      }
    } else {
      lanes.noteFront(slot.lane()); // until now its members waited
    }
    if (slot != null && !isUnwanted(slot)) {
      if (slot.program().runsInCall() && answerEnded() > 0) {
        now = clock.nanoTime(); // answered first, or those callers would wait for this run too
      }
      start(slot, now);
    }
    return 1;
  }

  /** Lets go of members that were cancelled of late; true when nobody is left to run for. */
  private boolean isUnwanted(BatchSlot slot) {
    if (slot.isWarmUp()) {
      return false;
    }
    if (cancelled) {
      cancelled = false;
      delivery.dropCancelled(slot);
    }
    if (slot.live() > 0) {
      return false;
    }
    batchEnd.giveUp(slot);
    return true;
  }

  /**
   * Chooses again, now that more is known than when the batch was armed. When the choice is the
   * same, what was assembled and uploaded is used.
   *
   * @return an armed batch; null when there is none to run
   */
  private @Nullable BatchSlot chooseAgain(BatchSlot slot, long now) {
    if (slot.isWarmUp()) {
      return slot;
    }
    batchEnd.takeBackCharge(slot);
    former.putBack(slot);
    if (!form(draft, now)) {
      batchEnd.free(slot);
      return null;
    }
    if (slot.hasSameMembers(draft)) {
      slot.retake(draft);
      return slot;
    }
    try {
      slot.takeOver(draft);
    } catch (Throwable e) {
      failures.notFreed(e);
    }
    return assembleAndArm(slot) ? slot : null;
  }

  private void start(BatchSlot slot, long formedNanos) {
    long now = slot.inputNanos() > 0 ? clock.nanoTime() : formedNanos;
    slot.beginRun(); // before the call, in which some programs run
    ServedModel model = slot.lane().model();
    mark.running(model.slot());
    calls.of(model);
    calls.enter(now);
    Throwable failure = null;
    try {
      running.started(slot, device.execute(slot.program().program(), slot.arguments()), now);
    } catch (Throwable e) {
      failure = e;
    }
    calls.leave();
    if (failure != null) {
      mark.idle();
      failToStart(slot, failure);
      return;
    }
    slot.program().calledFor(clock.nanoTime() - now);
    if (!slot.isWarmUp()) {
      loads.used(slot.lane(), now);
    }
    calls.runStarted(now);
  }

  private void failToStart(BatchSlot slot, Throwable failure) {
    if (!findsRoom(slot, failure)) {
      batchEnd.failBeforeRun(slot, failure);
      return;
    }
    batchEnd.takeBackCharge(slot);
    takeApart(slot);
  }

  /** True when a run that failed for want of device memory is to be made again. */
  private boolean findsRoom(BatchSlot slot, Throwable failure) {
    if (!Failures.isOutOfMemory(failure) || !room.make(slot.lane())) {
      return false;
    }
    revokeArmed(); // what follows in it may be rows of the same request
    return true;
  }

  private void revokeArmed() {
    BatchSlot next = armed;
    armed = null;
    if (next != null) {
      batchEnd.takeBackCharge(next);
      takeApart(next);
    }
  }

  /** Puts the members of a batch that is not to run back to where they waited. */
  private void takeApart(BatchSlot slot) {
    slot.rejoinQueue();
    if (slot.isWarmUp()) {
      warmUp.again();
    } else {
      former.putBack(slot);
    }
    batchEnd.free(slot);
  }

  private void onRunEnded(BatchSlot slot) {
    Throwable failure = running.end(slot);
    calls.runEnded(); // only now: while it is waited for, it has the time that a run has
    mark.idle();
    try {
      slot.ended(clock.nanoTime());
    } catch (Throwable e) {
      failures.notFreed(e);
    }
    // The batch that is armed was chosen by an estimate: by the truth another may be due.
    newsSinceArming |=
        armed != null
            && slot.computeNanos() != slot.expectedNanos()
            && lanes.isAnotherReady(armed.lane(), slot.endedNanos());
    batchEnd.settleCharge(slot);
    if (failure == null) {
      room.ran();
    } else if (findsRoom(slot, failure)) {
      takeApart(slot);
      return;
    }
    if (failure == null && !slot.isWarmUp()) {
      slot.program().cost().record(slot.computeNanos(), slot.endedNanos());
      count(slot);
    }
    ended = slot;
    endedBy = failure;
  }

  private static void count(BatchSlot slot) {
    ModelCounters counters = slot.lane().counters();
    counters.addOnDispatch(Metric.EXECUTIONS, 1);
    counters.addOnDispatch(Metric.ROWS, slot.rows());
    if (slot.paddingRows() > 0) {
      counters.addOnDispatch(Metric.PADDING_ROWS, slot.paddingRows());
    }
    counters.addOnDispatch(Metric.COMPUTE, slot.computeNanos());
    slot.program().tally().ran(slot.rows());
  }

  private int answerEnded() {
    BatchSlot slot = ended;
    if (slot == null) {
      return 0;
    }
    Throwable failure = endedBy;
    ended = null;
    endedBy = null;
    batchEnd.answer(slot, failure);
    return 1;
  }

  // --- waiting, and what others may know

  /**
   * Waits for the device when it is busy, else for the link when that is; false, at once, when
   * neither is. For stepped engines.
   */
  public boolean awaitDevice() {
    return running.await() || loads.await();
  }

  /** Has {@code wake} called when the run that is under way is over. */
  void wakeAtRunEnd(Runnable wake) {
    running.wakeAtEnd(wake);
  }

  /**
   * The longest time between two choices while there was work, device calls included. Any thread
   * may ask.
   */
  long longestCycleNanos() {
    return longestCycleNanos;
  }

  /** Bytes of weights on the device. Any thread may ask. */
  long residentWeightBytes() {
    return loads.residentBytes();
  }

  /** A caller has taken a request back that may be in the armed batch. Any thread. */
  void noteCancelled() {
    cancelled = true;
  }

  /** Has it noted which model runs; before the first turn. */
  void markRuns(RunMark marked) {
    mark = marked;
  }

  /** Since when a call of the device, or a run, has been under way. Any thread. */
  DeviceCalls calls() {
    return calls;
  }

  /**
   * When something is to be done that nobody will wake this loop for: a held batch is due, or it is
   * time to arm; {@link Long#MAX_VALUE} when there is no such moment.
   */
  public long nextMomentNanos() {
    BatchSlot run = running.slot();
    if (run != null) {
      return armAtNanos(run);
    }
    return freeSlot() == null ? Long.MAX_VALUE : lanes.nextReleaseNanos();
  }

  /** How long until then, 0 when it has come; {@link Long#MAX_VALUE} for none. */
  long untilNextMomentNanos() {
    long moment = nextMomentNanos();
    long until = moment == Long.MAX_VALUE ? moment : Math.max(0, moment - clock.nanoTime());
    // Who takes the last request of a model back wakes nobody, and counts it a moment later.
    boolean looks = running.isUntold() || !retirements.isEmpty();
    return looks ? Math.min(until, LOOK_NANOS) : until;
  }

  /**
   * How long until the loop is to be turning on account of the run under way; below 0 when it is to
   * be now, {@link Long#MAX_VALUE} when nothing runs.
   */
  long untilAttentionNanos() {
    BatchSlot run = running.slot();
    return run == null ? Long.MAX_VALUE : lookAhead.attendAtNanos(run) - clock.nanoTime();
  }

  /** True when the run under way is about to end, by what its program took of late. */
  boolean isEndNear() {
    BatchSlot run = running.slot();
    return run != null && lookAhead.isEndNear(run, clock.nanoTime());
  }

  /** Takes note of how late the thread that turns this loop wakes when it sleeps for a set time. */
  void wakesLateBy(long nanos) {
    lookAhead.wakesLateBy(nanos);
  }

  /**
   * True while a run is under way that the processors of this host compute, and that is long enough
   * to sleep through.
   */
  boolean isComputingHere() {
    BatchSlot run = running.slot();
    return runsOnHost && run != null && !lookAhead.isShort(run);
  }

  /** True when {@link #doWork} would find something to do now. */
  boolean hasWorkNow() {
    if (cancelled || !requests.isEmpty() || !commands.isEmpty() || !retired.isEmpty()) {
      return true;
    }
    if (loads.hasEnded() || (outputs != null && outputs.hasDelivered())) {
      return true;
    }
    return running.slot() == null ? mayStart() : running.isOver();
  }

  private boolean mayStart() {
    if (room.isMaking()) {
      return false;
    }
    return armed != null || ((!lanes.isIdle() || warmUp.wantsRun()) && freeSlot() != null);
  }

  /** True when {@link #doWork} has something to do, or will have before a held batch is due. */
  public boolean hasWork() {
    return running.slot() != null
        || armed != null
        || !lanes.isIdle()
        || !warmUp.isEmpty()
        || !requests.isEmpty()
        || !commands.isEmpty()
        || !retired.isEmpty()
        || !retirements.isEmpty()
        || loads.isBusy()
        || (outputs != null && outputs.isBusy());
  }

  private DispatchState state() {
    List<DispatchState.LaneState> models = new ArrayList<>();
    lanes.forEach(
        lane ->
            models.add(
                new DispatchState.LaneState(
                    lane.model().name(),
                    lane.version(),
                    lane.weight(),
                    lane.queue().size(),
                    lanes.isHeld(lane),
                    discipline.standing(lane.slot()),
                    loads.stateOf(lane))));
    return new DispatchState(
        discipline.name(),
        modelOf(running.slot()),
        modelOf(armed),
        longestCycleNanos,
        loads.state(),
        models);
  }

  private static @Nullable String modelOf(@Nullable BatchSlot slot) {
    return slot == null ? null : slot.lane().model().name();
  }

  private void measureCycle(long now) {
    if (cycling && now - cycleStartNanos > longestCycleNanos) {
      longestCycleNanos = now - cycleStartNanos;
    }
    cycling = true;
    cycleStartNanos = now;
  }

  // --- the end

  /** Lets the running batch end, sheds what waits and frees what the loop holds. The last call. */
  void onStop() {
    revokeArmed();
    BatchSlot run = running.slot();
    if (run != null) {
      onRunEnded(run); // waits for the device
    }
    answerEnded();
    if (outputs != null) {
      outputs.close();
      takeDelivered();
    }
    loads.close();
    takeRequests();
    lanes.forEach(this::shedAll);
    abandonCommands();
    for (BatchSlot slot : slots) {
      slot.close();
    }
    draft.close();
    delivery.close();
  }

  private void shedAll(ModelLane lane) {
    while (!lane.queue().isEmpty()) {
      waitingEnd.stopping(lane.queue().remove());
    }
  }

  /** Ends what commands have begun; those that have not been taken are the proxy's to end. */
  private void abandonCommands() {
    warmUp.abandon();
    loads.abandon();
    departures.abandon();
    retirements.abandon();
  }

  /** Ends a request that came too late for this loop; any thread, after {@link #onStop}. */
  void endTooLate(QueuedRequest request) {
    waitingEnd.tooLate(request);
  }

  /**
   * Ends every request in this loop's batches and lanes, because the engine has failed. Nothing is
   * freed, for nothing can be trusted and the process is about to end. Called by the dispatch
   * thread, or by the watchdog that took its place.
   *
   * @return what ends those that were handed over and not yet seen
   */
  RequestsInLoop endAll(Throwable cause) {
    RequestsInLoop left = new RequestsInLoop(accounting, FailStop.text(cause));
    for (BatchSlot slot : slots) {
      left.endBegun(slot); // before the others: further pieces of a request may wait there
    }
    for (BatchSlot slot : slots) {
      left.endBatch(slot);
    }
    left.endBatch(draft);
    left.endLanes(lanes);
    RequestsInLoop.guarded(this::abandonCommands);
    return left;
  }
}
