package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchAssembler;
import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Three {@link BatchSlot}s: while one batch runs, the next is armed and the one before is answered.
 * One run at a time; the only caller of {@link Device#execute}, which it never waits for. A batch's
 * failure ends that batch's requests; any other exception ends the engine.
 */
final class Pipeline {
  /** Copying less than this takes less time than to measure it; it counts as part of the run. */
  private static final long UNTIMED_COPY_BYTES = 16 << 10;

  private final Device device;
  private final boolean runsOnHost;
  private final NanoClock clock;
  private final RunMark mark;
  private final Lanes lanes;
  private final BatchSlots slots;
  private final BatchFormer former;
  private final WarmUp warmUp;
  private final Failures failures;
  private final OwnerThread owner;
  private final Ledger ledger;
  private final WeightMover weights;
  private final BatchAssembler assembler;
  private final Delivery delivery;
  private final @Nullable OutputsThread outputs;
  private final BatchEnd batchEnd;
  private final DeviceCalls calls = new DeviceCalls();
  private final LookAhead lookAhead = new LookAhead();
  private final LongestCycle cycles = new LongestCycle();

  /** Where a batch is formed that may replace the armed one; empty in between. */
  private final BatchSlot draft;

  private final RunOnDevice running = new RunOnDevice();
  private @Nullable BatchSlot armed;
  private @Nullable BatchSlot ended;
  private @Nullable Throwable endedBy;

  /** True when something since arming may change the choice. */
  private boolean newsSinceArming;

  private boolean warmedLast;

  /** Set by a caller who takes back a request that may be in the armed batch. */
  private volatile boolean cancelled;

  Pipeline(
      DispatchContext context, DispatchParts parts, WeightMover weights, ModelLifecycle models) {
    this.weights = weights;
    owner = parts.owner();
    device = context.device();
    runsOnHost = device.description().onHostProcessors();
    clock = context.clock();
    mark = context.mark();
    outputs = context.outputs();
    lanes = parts.lanes();
    slots = parts.slots();
    former = parts.former();
    warmUp = parts.warmUp();
    failures = parts.failures();
    ledger = parts.ledger();
    draft = new BatchSlot(BatchSlots.COUNT, device, ledger);
    delivery = delivery(context, parts.accounting());
    if (outputs != null) {
      outputs.open(delivery(context, context.accounting()), BatchSlots.COUNT);
    }
    batchEnd = new BatchEnd(parts, models, delivery, outputs);
    assembler =
        new BatchAssembler(
            (slot, member, cause) ->
                delivery.fail(
                    slot, member, failures.unreadable(slot.lane().model().name(), cause)));
  }

  private Delivery delivery(DispatchContext context, Accounting accounting) {
    return new Delivery(accounting, context.budget(), context.answers(), failures, clock, device);
  }

  /**
   * Does what can be done without waiting, in the order that keeps the device waiting least.
   *
   * @return how many things it did
   */
  int turn() {
    assert owner.isHere();
    int work = takeDelivered();
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
    // The device is busy again before anyone is answered.
    work += answerEnded();
    run = running.slot();
    if (run != null) {
      work += armNext(run);
    }
    return work;
  }

  // --- what comes in

  /** A request has been put into its lane. */
  void arrived(QueuedRequest request) {
    assert owner.isHere();
    newsSinceArming |= armed != null && former.mayChange(armed, request);
  }

  /** Something other than a request may change what runs next. */
  void chooseAnew() {
    assert owner.isHere();
    newsSinceArming = true;
  }

  /** A caller has cancelled a request that may be in the armed batch. Any thread. */
  void noteCancelled() {
    cancelled = true;
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
    if (armed != null || lookAhead.isShort(run) || slots.free(ended) == null) {
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
    BatchSlot slot = slots.free(ended);
    if (slot == null) {
      return null;
    }
    boolean warms = warmUp.wantsRun() && warmUp.nextStagingBytes() <= slot.staging().byteSize();
    if (warms && (lanes.isIdle() || !warmedLast)) {
      warmedLast = true;
      warmUp.begin(slot);
      // While nothing else wants the device, warm-up is not charged.
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
    cycles.began(now);
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

  /** False, with the slot freed, when no member is left or the batch cannot run. */
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

  // --- running

  private int startNext() {
    if (weights.isMakingRoom()) {
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

  /** Drops recently cancelled members; true when none is left. */
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
    ProgramModel model = slot.lane().model();
    mark.running(model.modelIndex());
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
      weights.used(slot.lane(), now);
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

  /** True when a run that failed for lack of device memory is to be retried. */
  private boolean findsRoom(BatchSlot slot, Throwable failure) {
    if (!Failures.isOutOfMemory(failure) || !weights.makeRoom(slot.lane())) {
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
    // The armed batch was chosen by an estimate: by the actual time another may be due.
    newsSinceArming |=
        armed != null
            && slot.computeNanos() != slot.expectedNanos()
            && lanes.isAnotherReady(armed.lane(), slot.endedNanos());
    batchEnd.settleCharge(slot);
    if (failure == null) {
      weights.ran();
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

  private void count(BatchSlot slot) {
    ModelCounters counters = slot.lane().counters();
    ledger.add(counters, Metric.EXECUTIONS);
    ledger.add(counters, Metric.ROWS, slot.rows());
    if (slot.paddingRows() > 0) {
      ledger.add(counters, Metric.PADDING_ROWS, slot.paddingRows());
    }
    ledger.add(counters, Metric.COMPUTE, slot.computeNanos());
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

  // --- what is under way

  /**
   * Waits for the run that is under way, in an engine that is stepped; false when there is none.
   */
  boolean await() {
    return running.await();
  }

  /** Has {@code wake} called when the run that is under way is over. */
  void wakeAtRunEnd(Runnable wake) {
    running.wakeAtEnd(wake);
  }

  /** True when the end of the run under way must be looked for: the device does not tell. */
  boolean isUntold() {
    return running.isUntold();
  }

  /** When it is time to arm, or a held batch is due; {@link Long#MAX_VALUE} for no such moment. */
  long nextMomentNanos() {
    BatchSlot run = running.slot();
    if (run != null) {
      return armAtNanos(run);
    }
    return slots.free(ended) == null ? Long.MAX_VALUE : lanes.nextReleaseNanos();
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

  /** Takes note of how late the thread that turns the loop wakes when it sleeps for a set time. */
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

  /** True when {@link #turn} would find something to do now. */
  boolean hasWorkNow() {
    if (cancelled || (outputs != null && outputs.hasDelivered())) {
      return true;
    }
    return running.slot() == null ? mayStart() : running.isOver();
  }

  private boolean mayStart() {
    if (weights.isMakingRoom()) {
      return false;
    }
    return armed != null || ((!lanes.isIdle() || warmUp.wantsRun()) && slots.free(ended) != null);
  }

  /** True while a batch is on its way. */
  boolean isBusy() {
    return running.slot() != null || armed != null || (outputs != null && outputs.isBusy());
  }

  /** The model that runs; null when none does. */
  @Nullable String runningModel() {
    return modelOf(running.slot());
  }

  /** The model whose batch runs next; null when none has been made up. */
  @Nullable String armedModel() {
    return modelOf(armed);
  }

  private static @Nullable String modelOf(@Nullable BatchSlot slot) {
    return slot == null ? null : slot.lane().model().name();
  }

  /** How long it takes from one choice to the next; its figure is any thread's. */
  LongestCycle cycles() {
    return cycles;
  }

  /** Since when a call of the device, or a run, has been under way. Any thread. */
  DeviceCalls calls() {
    return calls;
  }

  // --- the end

  /** Lets the running batch end and answers it; the armed one's members wait again. */
  void finish() {
    assert owner.isHere();
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
  }

  /** Frees what it holds. The last call. */
  void close() {
    assert owner.isHere();
    slots.forEach(BatchSlot::close);
    draft.close();
    delivery.close();
  }

  /** Ends every batch's members, as the engine has failed. */
  void endAll(RequestsInLoop left) {
    slots.forEach(left::endBegun); // first: further pieces of a request may wait in the others
    slots.forEach(left::endBatch);
    left.endBatch(draft);
  }
}
