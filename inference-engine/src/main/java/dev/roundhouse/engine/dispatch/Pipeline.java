package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.recording.RunEvent;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Three {@link BatchSlot}s: while one batch runs, the {@linkplain NextBatch next} is armed and the
 * one before is answered. One run at a time; the only caller of {@link Device#execute}, which it
 * never waits for. A batch's failure ends that batch's requests; any other exception ends the
 * engine.
 */
final class Pipeline {
  private final Device device;
  private final boolean runsOnHost;
  private final NanoClock clock;
  private final RunMark mark;
  private final Lanes lanes;
  private final BatchSlots slots;
  private final Failures failures;
  private final OwnerThread owner;
  private final Ledger ledger;
  private final WeightMover weights;
  private final RecentRuns recent;
  private final Delivery delivery;
  private final @Nullable OutputsThread outputs;
  private final BatchEnd batchEnd;
  private final DeviceCalls calls = new DeviceCalls();
  private final NextBatch next;
  private final LookAhead lookAhead;
  private final RunOnDevice running = new RunOnDevice();
  private final WarmUp warmUp;
  private final DeviceTime time;
  private @Nullable BatchSlot ended;
  private @Nullable Throwable endedBy;

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
    failures = parts.failures();
    ledger = parts.ledger();
    recent = parts.recent();
    warmUp = parts.warmUp();
    time = new DeviceTime(clock);
    delivery = delivery(context, parts.accounting());
    if (outputs != null) {
      outputs.open(delivery(context, context.accounting()), BatchSlots.COUNT);
    }
    batchEnd = new BatchEnd(parts, models, delivery, outputs);
    next = new NextBatch(context, parts, weights, batchEnd, delivery);
    lookAhead = next.lookAhead();
  }

  private Delivery delivery(DispatchContext context, Accounting accounting) {
    return new Delivery(
        accounting,
        context.budget(),
        context.answers(),
        failures,
        clock,
        device,
        context.residency().states());
  }

  /**
   * Does what can be done without waiting, in the order that keeps the device waiting least.
   *
   * @return how many things it did
   */
  int turn() {
    assert owner.isHere();
    int work = takeDelivered() + next.dropCancelled();
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
      work += next.arm(run);
    } else {
      time.become(whyIdle());
    }
    return work;
  }

  private DeviceUse whyIdle() {
    if (weights.isMakingRoom()) {
      return DeviceUse.WEIGHTS;
    }
    if (slots.free() == null) {
      return DeviceUse.ANSWERS;
    }
    if (!lanes.isIdle() || !warmUp.isEmpty()) {
      return DeviceUse.DISPATCH;
    }
    if (weights.isBusy()) {
      return DeviceUse.WEIGHTS;
    }
    return lanes.nextReleaseNanos() == Long.MAX_VALUE ? DeviceUse.NO_REQUESTS : DeviceUse.HELD;
  }

  /** What the device does with its time. Any thread may read it. */
  DeviceTime time() {
    return time;
  }

  /** The batch that runs next. */
  NextBatch next() {
    return next;
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

  // --- running

  private int startNext() {
    if (weights.isMakingRoom()) {
      return 0;
    }
    long now = clock.nanoTime();
    if (!next.choose(now)) {
      return 0;
    }
    BatchSlot slot = next.take();
    if (slot != null) {
      if (slot.program().runsInCall() && answerEnded() > 0) {
        now = clock.nanoTime(); // answered first, or those callers would wait for this run too
      }
      start(slot, now);
    }
    return 1;
  }

  private void start(BatchSlot slot, long formedNanos) {
    long now = slot.inputNanos() > 0 ? clock.nanoTime() : formedNanos;
    if (slot.wantsReceipts()) {
      recent.note(slot, lanes);
    }
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
      next.failToStart(slot, failure);
      return;
    }
    slot.program().calledFor(clock.nanoTime() - now);
    if (!slot.isWarmUp()) {
      weights.used(slot.lane(), now);
    }
    calls.runStarted(now);
    time.become(DeviceUse.RUNNING, now);
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
    time.become(DeviceUse.DISPATCH, slot.endedNanos());
    next.ran(slot);
    recent.add(slot.lane().modelIndex(), slot.computeNanos(), slot.endedNanos());
    batchEnd.settleCharge(slot);
    RunEvent.tell(
        slot.lane().model().name(),
        slot.rows(),
        slot.paddingRows(),
        slot.isWarmUp(),
        failure != null,
        slot.computeNanos());
    if (failure == null) {
      weights.ran();
    } else if (next.findsRoom(slot, failure)) {
      next.takeApart(slot);
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
    if (slot.isInPlace()) {
      ledger.add(counters, Metric.IN_PLACE_ROWS, slot.rows());
    }
    if (slot.program().layout().paddedInput() >= 0) {
      ledger.add(counters, Metric.POSITIONS, slot.positions(false));
      ledger.add(counters, Metric.PADDING_POSITIONS, slot.positions(true));
    }
    ledger.add(counters, Metric.INPUT_BYTES, slot.uploadedBytes());
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
      return next.armAtNanos(run);
    }
    return slots.free() == null ? Long.MAX_VALUE : lanes.nextReleaseNanos();
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
    if (next.hasCancelled() || (outputs != null && outputs.hasDelivered())) {
      return true;
    }
    return running.slot() == null ? !weights.isMakingRoom() && next.mayChoose() : running.isOver();
  }

  /** True while a batch is on its way. */
  boolean isBusy() {
    return running.slot() != null || next.armed() != null || (outputs != null && outputs.isBusy());
  }

  /** The model that runs; null when none does. */
  @Nullable String runningModel() {
    return modelOf(running.slot());
  }

  /** What is on the device; null when it is free. */
  Waiting.@Nullable Busy busy(long nowNanos) {
    BatchSlot run = running.slot();
    return run == null
        ? null
        : new Waiting.Busy(
            run.lane().model().name(),
            run.isWarmUp(),
            run.expectedNanos(),
            run.startedNanos() + run.expectedNanos() - nowNanos);
  }

  /** The model whose batch runs next; null when none has been made up. */
  @Nullable String armedModel() {
    return modelOf(next.armed());
  }

  private static @Nullable String modelOf(@Nullable BatchSlot slot) {
    return slot == null ? null : slot.lane().model().name();
  }

  /** Since when a call of the device, or a run, has been under way. Any thread. */
  DeviceCalls calls() {
    return calls;
  }

  // --- the end

  /** Lets the running batch end and answers it; the armed one's members wait again. */
  void finish() {
    assert owner.isHere();
    next.revoke();
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
    next.close();
    delivery.close();
  }

  /** Ends every batch's members, as the engine has failed. */
  void endAll(RequestsInLoop left) {
    slots.forEach(left::endBegun); // first: further pieces of a request may wait in the others
    slots.forEach(left::endBatch);
    next.endAll(left);
  }
}
