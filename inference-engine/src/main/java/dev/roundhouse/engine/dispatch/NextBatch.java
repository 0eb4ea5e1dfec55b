package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchAssembler;
import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * The batch that runs next: chosen and armed while another runs, chosen again or revoked when
 * something has happened meanwhile that may change the choice.
 */
final class NextBatch {
  /** Copying less than this takes less time than to measure it; it counts as part of the run. */
  private static final long UNTIMED_COPY_BYTES = 16 << 10;

  private final Device device;
  private final NanoClock clock;
  private final OwnerThread owner;
  private final Lanes lanes;
  private final BatchSlots slots;
  private final BatchFormer former;
  private final WarmUp warmUp;
  private final Failures failures;
  private final WeightMover weights;
  private final BatchEnd batchEnd;
  private final Delivery delivery;
  private final BatchMaker maker;
  private final BatchAssembler assembler;
  private final LookAhead lookAhead = new LookAhead();

  /** Where a batch is formed that may replace the armed one; empty in between. */
  private final BatchSlot draft;

  private @Nullable BatchSlot armed;

  /** True when something since arming may change the choice. */
  private boolean newsSinceArming;

  /** Set by a caller who takes back a request that may be in the armed batch. */
  private volatile boolean cancelled;

  NextBatch(
      DispatchContext context,
      DispatchParts parts,
      WeightMover weights,
      BatchEnd batchEnd,
      Delivery delivery) {
    this.weights = weights;
    this.batchEnd = batchEnd;
    this.delivery = delivery;
    device = context.device();
    clock = context.clock();
    owner = parts.owner();
    lanes = parts.lanes();
    slots = parts.slots();
    former = parts.former();
    warmUp = parts.warmUp();
    failures = parts.failures();
    draft = new BatchSlot(BatchSlots.COUNT, device, parts.ledger());
    maker = new BatchMaker(parts, batchEnd);
    assembler =
        new BatchAssembler(
            (slot, member, cause) ->
                delivery.fail(slot, member, failures.unreadable(slot.lane().model().name(), cause)),
            device.description().hostVisible());
  }

  // --- what may change the choice

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

  /** A run has ended: by the time it took, another model than the armed one's may be due. */
  void ran(BatchSlot run) {
    newsSinceArming |=
        armed != null
            && run.computeNanos() != run.expectedNanos()
            && lanes.isAnotherReady(armed.lane(), run.endedNanos());
  }

  /** Ends members of the armed batch whose callers have left. */
  int dropCancelled() {
    if (!cancelled) {
      return 0;
    }
    cancelled = false;
    BatchSlot slot = armed;
    if (slot != null && !slot.isWarmUp() && delivery.dropCancelled(slot)) {
      newsSinceArming = true;
      return 1;
    }
    return 0;
  }

  // --- choosing and arming

  /** When the next batch is to be armed; far away when there is none, or no slot for it. */
  long armAtNanos(BatchSlot run) {
    if (armed != null || lookAhead.isShort(run) || slots.free() == null) {
      return Long.MAX_VALUE;
    }
    boolean ready = !lanes.isIdle() || warmUp.wantsRun();
    long readyAt = ready ? Long.MIN_VALUE : lanes.nextReleaseNanos();
    return Math.max(readyAt, lookAhead.attendAtNanos(run));
  }

  /** Arms the next batch when it is time; returns how many things it did. */
  int arm(BatchSlot run) {
    long moment = armAtNanos(run);
    if (moment == Long.MAX_VALUE) {
      return 0;
    }
    long now = clock.nanoTime();
    if (now < moment) {
      return 0;
    }
    BatchSlot slot = maker.formInFreeSlot(now);
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

  /**
   * Chooses what runs now: the armed batch, unless the choice is another by now, or one that is
   * made up now. It is armed then, unless its last member has just left or it cannot run.
   *
   * @return false when there is none
   */
  boolean choose(long now) {
    BatchSlot slot = armed;
    armed = null;
    if (slot != null && (newsSinceArming || former.isTooLateForOne(slot, now))) {
      slot = chooseAgain(slot, now);
    } else if (slot == null) {
      slot = maker.formInFreeSlot(now);
      if (slot == null) {
        return false;
      }
      if (!assembleAndArm(slot)) {
        return true;
      }
    } else {
      lanes.noteFront(slot.lane()); // until now its members waited
    }
    if (slot != null && !isUnwanted(slot)) {
      armed = slot;
    }
    return true;
  }

  /** Takes the armed batch, which is to run now; null when there is none. */
  @Nullable BatchSlot take() {
    BatchSlot slot = armed;
    armed = null;
    return slot;
  }

  /** Drops recently cancelled members; true when none is left. */
  private boolean isUnwanted(BatchSlot slot) {
    if (slot.isWarmUp()) {
      return false;
    }
    if (cancelled) {
      cancelled = false;
      if (delivery.dropCancelled(slot) && slot.live() > 0 && slot.readsMembers()) {
        return !assembleWithoutDropped(slot);
      }
    }
    if (slot.live() > 0) {
      return false;
    }
    batchEnd.giveUp(slot);
    return true;
  }

  /** Copies what is left: memory of a member that has gone may change while a run reads it. */
  private boolean assembleWithoutDropped(BatchSlot slot) {
    try {
      slot.disarm();
    } catch (Throwable e) {
      failures.notFreed(e);
    }
    return assembleAndArm(slot);
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
    if (!maker.form(draft, now)) {
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

  // --- revoking

  /** Ends a batch that could not be started, or puts its members back to wait for memory. */
  void failToStart(BatchSlot slot, Throwable failure) {
    if (!findsRoom(slot, failure)) {
      batchEnd.failBeforeRun(slot, failure);
      return;
    }
    batchEnd.takeBackCharge(slot);
    takeApart(slot);
  }

  /** True when a run that failed for lack of device memory is to be retried. */
  boolean findsRoom(BatchSlot slot, Throwable failure) {
    if (!Failures.isOutOfMemory(failure) || !weights.makeRoom(slot.lane())) {
      return false;
    }
    revoke(); // what follows in it may be rows of the same request
    return true;
  }

  /** Puts the members of the armed batch back to where they waited. */
  void revoke() {
    BatchSlot next = armed;
    armed = null;
    if (next != null) {
      batchEnd.takeBackCharge(next);
      takeApart(next);
    }
  }

  /** Puts the members of a batch that is not to run back to where they waited. */
  void takeApart(BatchSlot slot) {
    slot.rejoinQueue();
    if (slot.isWarmUp()) {
      warmUp.again();
    } else {
      former.putBack(slot);
    }
    batchEnd.free(slot);
  }

  // --- what is under way

  /** The batch that is armed; null when none is. */
  @Nullable BatchSlot armed() {
    return armed;
  }

  /** True when the armed batch is chosen again before it runs. */
  boolean isChosenAgain() {
    return armed != null && newsSinceArming;
  }

  /** True when a run that warms a model up is made up next. */
  boolean warmsNext() {
    BatchSlot slot = armed == null ? slots.free() : null;
    return slot != null && maker.warmsNext(slot);
  }

  /** True when the next batch cannot be made up, for want of a slot. */
  boolean isWithoutSlot() {
    return armed == null && slots.free() == null;
  }

  /** True when a caller has left whose request may be armed. */
  boolean hasCancelled() {
    return cancelled;
  }

  /** True when {@link #choose} may find something. */
  boolean mayChoose() {
    return armed != null || ((!lanes.isIdle() || warmUp.wantsRun()) && slots.free() != null);
  }

  /** When the loop turns to the run under way. */
  LookAhead lookAhead() {
    return lookAhead;
  }

  /** How long it takes from one choice to the next; its figure is any thread's. */
  LongestCycle cycles() {
    return maker.cycles();
  }

  /** Frees what it holds. The last call. */
  void close() {
    draft.close();
  }

  /** Ends the members of a batch that is being made up, as the engine has failed. */
  void endAll(RequestsInLoop left) {
    left.endBatch(draft);
  }
}
