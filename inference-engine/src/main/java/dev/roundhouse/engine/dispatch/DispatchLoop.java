package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.Scope;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * In a cycle: takes requests, chooses a model, runs a batch of it, answers the previous batch. Runs
 * no user code, no compile and no I/O, and never waits for the device. An exception from {@link
 * #doWork} ends the engine.
 *
 * <p>It turns a {@link Pipeline} of batches, a {@link WeightMover} and a {@link ModelLifecycle}.
 *
 * <p>One thread calls everything here, {@code dispatch} in production or a test; it owns the state
 * of this package and of {@code lane}, {@code batch} and {@code layout}. Entry points assert that.
 * Others reach it through {@link DispatchProxy}.
 */
public final class DispatchLoop {
  private static final int REQUESTS_PER_TURN = 256;

  /** How often to poll what does not signal its end. */
  private static final long LOOK_NANOS = 1_000_000;

  private final NanoClock clock;
  private final Accounting accounting;
  private final Inbox inbox;
  private final DispatchParts parts;
  private final Lanes lanes;
  private final WeightMover weights;
  private final ModelLifecycle models;
  private final Pipeline pipeline;
  private final WhyWaiting why;
  private final LaneNews news;

  DispatchLoop(DispatchContext context, Inbox inbox) {
    this.inbox = inbox;
    clock = context.clock();
    accounting = context.accounting();
    parts = DispatchParts.of(context);
    lanes = parts.lanes();
    weights =
        new WeightMover(
            parts,
            new Uploads(context.residency().newUploader(clock), context.weights()),
            context.residency().isSelfManaged());
    models = new ModelLifecycle(parts, weights);
    pipeline = new Pipeline(context, parts, weights, models);
    why = new WhyWaiting(parts, pipeline, weights);
    news = new LaneNews(lanes, parts.cache());
  }

  /** From now on only this thread may run the loop. */
  void turnedHere() {
    parts.owner().takeOver();
  }

  /**
   * Does what can be done without waiting.
   *
   * @return how many things it did; 0 when there was nothing, or the device is busy
   */
  public int doWork() {
    assert parts.owner().isHere();
    int work = takeRequests() + takeCommands();
    work += pipeline.turn();
    work += models.finishRetirements(); // makes room for what is loaded next
    work += weights.turn(work > 0);
    if (work == 0) {
      pipeline.next().cycles().idle();
    }
    return work;
  }

  // --- what comes in

  private int takeRequests() {
    int taken = 0;
    while (taken < REQUESTS_PER_TURN) {
      QueuedRequest request = inbox.requests().poll();
      if (request == null) {
        break;
      }
      lanes.enqueue(request);
      pipeline.next().arrived(request);
      taken++;
    }
    return taken;
  }

  private int takeCommands() {
    int work = 0;
    for (Command next = inbox.commands().poll(); next != null; next = inbox.commands().poll()) {
      switch (next) {
        case Command.Activate activate -> models.activate(activate);
        case Command.SetWeight change -> lanes.setWeight(change.model(), change.weight());
        case Command.StopHolding stop -> lanes.stopHolding();
        case Command.Pin pin -> weights.pin(lanes.find(pin.model()), pin);
        case Command.BringAhead bring -> weights.bringAhead(lanes.find(bring.model()));
        case Command.Compact compact -> weights.compact(compact);
        case Command.Describe describe -> describe(describe);
      }
      if (!(next instanceof Command.Describe)) {
        pipeline.next().chooseAnew();
      }
      work++;
    }
    for (Command.Retire next = inbox.retirements().poll();
        next != null;
        next = inbox.retirements().poll()) {
      models.retire(next);
      work++;
    }
    return work;
  }

  // --- waiting, and what others may know

  /** What runs batches. */
  Pipeline pipeline() {
    return pipeline;
  }

  /**
   * Waits for the device when it is busy, else for the link when that is; false, at once, when
   * neither is. For stepped engines.
   */
  public boolean awaitDevice() {
    return pipeline.await() || weights.await();
  }

  /** Bytes of weights on the device. Any thread may ask. */
  long linkNanos() {
    return weights.linkNanos();
  }

  long residentWeightBytes() {
    return parts.cache().residentBytes();
  }

  /**
   * Next timed work, for which nothing wakes this loop: a held batch is due, or it is time to arm;
   * {@link Long#MAX_VALUE} when there is no such moment.
   */
  public long nextMomentNanos() {
    return pipeline.nextMomentNanos();
  }

  /** How long until then, 0 when it has come; {@link Long#MAX_VALUE} for none. */
  long untilNextMomentNanos() {
    long moment = nextMomentNanos();
    long until = moment == Long.MAX_VALUE ? moment : Math.max(0, moment - clock.nanoTime());
    // Cancelling a model's last request wakes nobody, and is counted a moment later.
    boolean looks = pipeline.isUntold() || models.isRetiring();
    return looks ? Math.min(until, LOOK_NANOS) : until;
  }

  /** True when {@link #doWork} would find something to do now. */
  boolean hasWorkNow() {
    return !inbox.isEmpty() || weights.hasEnded() || pipeline.hasWorkNow();
  }

  /** True when {@link #doWork} has something to do, or will have before a held batch is due. */
  public boolean hasWork() {
    return pipeline.isBusy()
        || !lanes.isIdle()
        || !parts.warmUp().isEmpty()
        || !inbox.isEmpty()
        || models.isRetiring()
        || weights.isBusy();
  }

  private void describe(Command.Describe command) {
    Scope scope = command.scope();
    try {
      Map<ModelLane, Waiting> waiting = Map.of();
      if (scope != Scope.WITHOUT_REASONS) {
        lanes.place(clock.nanoTime());
        waiting = why.all(clock.nanoTime());
      }
      command.state().complete(state(told(scope, waiting)));
    } catch (RuntimeException | Error e) {
      command.state().completeExceptionally(e); // whoever asked goes without; requests do not
    }
  }

  private List<LaneState> told(Scope scope, Map<ModelLane, Waiting> waiting) {
    Function<ModelLane, LaneState> describe = lane -> state(lane, waiting.get(lane));
    if (scope == Scope.FIRST || scope == Scope.NEWS) {
      return news.tell(scope == Scope.FIRST, waiting, describe);
    }
    List<LaneState> all = new ArrayList<>();
    lanes.forEach(lane -> all.add(describe.apply(lane)));
    return all;
  }

  private LaneState state(ModelLane lane, @Nullable Waiting waiting) {
    return new LaneState(
        lane.model().name(),
        lane.version(),
        lane.weight(),
        lane.queue().size(),
        lanes.isHeld(lane),
        lanes.standing(lane),
        weights.stateOf(lane),
        waiting);
  }

  private DispatchState state(List<LaneState> told) {
    return new DispatchState(
        lanes.discipline(),
        pipeline.runningModel(),
        pipeline.armedModel(),
        pipeline.next().cycles().longestNanos(),
        weights.state(),
        told,
        clock.nanoTime(),
        parts.recent().latest(lanes),
        parts.recentLoads().latest(lanes),
        parts.slots().used(),
        parts.recentEvictions().latest(lanes),
        lanes.tenantNanos());
  }

  // --- the end

  /**
   * Lets the running batch end, sheds what waits and frees what the loop holds. The last call, on
   * the loop's thread or after that has stopped.
   */
  void onStop() {
    turnedHere();
    pipeline.finish();
    weights.close();
    takeRequests();
    lanes.forEach(this::shedAll);
    models.abandon();
    pipeline.close();
    parts.cache().closeStates();
  }

  private void shedAll(ModelLane lane) {
    while (!lane.queue().isEmpty()) {
      parts.drops().stopping(lane.queue().remove());
    }
  }

  /**
   * Ends every request in this loop's batches and lanes, because the engine has failed. Nothing is
   * freed: no state can be trusted and the process is about to end. Called by the dispatch thread,
   * or by the watchdog that took its place.
   *
   * @return what ends those that were handed over and not yet seen
   */
  RequestsInLoop endAll(Throwable cause) {
    turnedHere();
    RequestsInLoop left = new RequestsInLoop(accounting, FailStop.text(cause));
    pipeline.endAll(left);
    left.endLanes(lanes);
    RequestsInLoop.guarded(models::abandon);
    return left;
  }
}
