package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes requests, picks a model, runs a batch of it, delivers what came out; again and again. The
 * only caller of {@link Device#execute}. Runs no user code, no compile and no I/O.
 *
 * <p>Not thread-safe: one thread calls everything here, {@code dispatch} in production or a test.
 * Others reach it through {@link DispatchProxy}.
 */
public final class DispatchLoop {
  private static final Logger log = LoggerFactory.getLogger(DispatchLoop.class);
  private static final int REQUESTS_PER_CYCLE = 256;

  /** Copying less than this takes less time than it takes to measure; it counts as execution. */
  private static final long UNTIMED_COPY_BYTES = 16 << 10;

  private final Device device;
  private final Discipline discipline;
  private final NanoClock clock;
  private final Ingress<InferenceRequest> requests;
  private final Ingress<Command> commands;
  private final Lanes lanes;
  private final Endings endings;
  private final BatchFormer former;
  private final BatchDelivery delivery;
  private final WarmUp warmUp;
  private final SharedParts layouts = new SharedParts();
  private final StagingSlot staging = new StagingSlot();
  private final Queue<Command.Retire> retirements;
  private final List<Command.Retire> retiring = new ArrayList<>();
  private final Queue<Command.Activate> activations = new ArrayDeque<>();
  private final Batch batch = new Batch();
  private boolean inFlight;
  private boolean warmedLast;

  // Of the cycle that measures itself: a cycle runs from one choice to the next.
  private boolean cycling;
  private long cycleStartNanos;
  private volatile long longestCycleNanos;

  DispatchLoop(
      Device device,
      Discipline discipline,
      NanoClock clock,
      Accounting accounting,
      Ingress<InferenceRequest> requests,
      Ingress<Command> commands,
      Queue<Command.Retire> retirements) {
    this.device = device;
    this.discipline = discipline;
    this.clock = clock;
    this.requests = requests;
    this.commands = commands;
    this.retirements = retirements;
    lanes = new Lanes(discipline);
    endings = new Endings(accounting);
    former = new BatchFormer(endings, discipline.shedsByCost());
    delivery = new BatchDelivery(endings, clock);
    warmUp = new WarmUp(device, staging, clock);
  }

  /**
   * Does what can be done without waiting.
   *
   * @return how many things it did; 0 when there was nothing, or the device is busy
   */
  public int doWork() {
    int work = takeRequests() + takeCommands();
    if (inFlight) {
      if (!batch.execution().isDone()) {
        return work;
      }
      onExecuted();
      work++;
    }
    work += finishRetired() + activateNext() + runNext();
    cycling &= work > 0;
    return work;
  }

  /** Waits for the device when it is busy; false, at once, when it is not. */
  public boolean awaitDevice() {
    if (!inFlight) {
      return false;
    }
    try {
      batch.execution().await();
    } catch (DeviceException e) {
      // doWork finds the execution over and reports the failure to its requests.
      log.debug("execution failed", e);
    }
    return true;
  }

  /**
   * Longest time between two choices while there was work, with what the device did on this thread.
   * Any thread may ask.
   */
  long longestCycleNanos() {
    return longestCycleNanos;
  }

  /** When the next held batch is due; {@link Long#MAX_VALUE} when none is held. */
  public long nextReleaseNanos() {
    return lanes.nextReleaseNanos();
  }

  /** How long until the next held batch is due, 0 when it is; {@link Long#MAX_VALUE} for none. */
  long untilReleaseNanos() {
    long release = lanes.nextReleaseNanos();
    return release == Long.MAX_VALUE ? release : Math.max(0, release - clock.nanoTime());
  }

  /** True when {@link #doWork} would find something to do before a held batch is due. */
  public boolean hasWork() {
    return inFlight
        || !lanes.isIdle()
        || !warmUp.isEmpty()
        || !requests.isEmpty()
        || !commands.isEmpty()
        || !retirements.isEmpty()
        || !retiring.isEmpty()
        || !activations.isEmpty();
  }

  /** Lets the running batch end, sheds what waits and frees what the loop holds. The last call. */
  void onStop() {
    if (inFlight) {
      onExecuted(); // waits for the device
    }
    takeRequests();
    lanes.forEach(this::shedAll);
    warmUp.abandon();
    takeCommands();
    activations.forEach(activate -> activate.warmedUp().cancel(false));
    activations.clear();
    retiring.forEach(retire -> retire.retired().cancel(false));
    retiring.clear();
    staging.close();
  }

  /** Ends a request that came too late for this loop; any thread, after {@link #onStop}. */
  void shedLateHandOver(InferenceRequest request) {
    if (request.state() == InferenceRequest.State.DONE) {
      return; // its model may be gone
    }
    endings.tooLate(lanes.get(request.slot()), request);
  }

  private void shedAll(ModelLane lane) {
    while (!lane.queue().isEmpty()) {
      endings.stopping(lane, lane.queue().remove());
    }
  }

  private int takeRequests() {
    int taken = 0;
    while (taken < REQUESTS_PER_CYCLE) {
      InferenceRequest request = requests.poll();
      if (request == null) {
        break;
      }
      lanes.enqueue(request);
      taken++;
    }
    return taken;
  }

  private int takeCommands() {
    int work = 0;
    for (Command next = commands.poll(); next != null; next = commands.poll()) {
      switch (next) {
        // A new model may need a larger staging slot, and a batch may be running out of this one.
        case Command.Activate activate -> activations.add(activate);
        case Command.SetWeight change -> lanes.setWeight(change.model(), change.weight());
        case Command.StopHolding stop -> lanes.stopHolding();
        case Command.Describe describe -> describe.state().complete(state());
      }
      work++;
    }
    for (Command.Retire next = retirements.poll(); next != null; next = retirements.poll()) {
      retiring.add(next);
      lanes.stopHolding(next.model());
      work++;
    }
    return work;
  }

  /** Lets go of retired models of which nothing is queued, running or on its way any more. */
  private int finishRetired() {
    if (retiring.isEmpty()) {
      return 0;
    }
    int before = retiring.size();
    retiring.removeIf(this::finish);
    return before - retiring.size();
  }

  private boolean finish(Command.Retire retire) {
    ServedModel model = retire.model();
    boolean running = inFlight && batch.lane().model() == model;
    // A request is counted before it is handed over and until it has ended: when none is open,
    // whatever of the model still comes out of a queue has ended already.
    if (running || !model.counters().closeIfIdle()) {
      return false;
    }
    ModelLane lane = lanes.find(model);
    if (lane != null) {
      lanes.remove(model.slot());
      layouts.release(lane);
    }
    retire.retired().complete(null);
    return true;
  }

  private int activateNext() {
    int work = 0;
    for (Command.Activate next = activations.poll(); next != null; next = activations.poll()) {
      onActivate(next);
      work++;
    }
    return work;
  }

  private void onActivate(Command.Activate activate) {
    int slot = activate.model().slot();
    try {
      ModelLane lane = new ModelLane(activate.model(), activate.options(), layouts);
      lanes.add(lane);
      List<PreparedProgram> programs = lane.programs();
      for (PreparedProgram program : programs) {
        staging.ensureCapacity(program.layout().stagingBytes());
      }
      warmUp.add(lane, activate.warmedUp());
    } catch (RuntimeException | Error e) {
      lanes.remove(slot);
      activate.warmedUp().completeExceptionally(e);
    }
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
                    discipline.standing(lane.slot()))));
    String running = inFlight ? batch.lane().model().name() : null;
    return new DispatchState(discipline.name(), running, longestCycleNanos, models);
  }

  private int runNext() {
    if (!warmUp.isEmpty() && (lanes.isIdle() || !warmedLast)) {
      warmedLast = true;
      ModelLane broken = warmUp.runOne();
      if (broken != null) {
        lanes.remove(broken.slot());
        layouts.release(broken);
      }
      return 1;
    }
    warmedLast = false;
    if (lanes.isIdle() && lanes.nextReleaseNanos() == Long.MAX_VALUE) {
      return 0;
    }
    long now = clock.nanoTime();
    measureCycle(now);
    ModelLane lane = lanes.next(now);
    if (lane == null) {
      return 0;
    }
    run(lane, now);
    lanes.settle(lane, now);
    return 1;
  }

  private void run(ModelLane lane, long now) {
    former.form(batch, lane, now);
    if (batch.size() == 0) {
      batch.clear();
      return;
    }
    try {
      BatchAssembler.assemble(batch, staging);
      if (nobodyWantsIt()) {
        return;
      }
      boolean timed = batch.program().layout().stagingBytes() > UNTIMED_COPY_BYTES;
      long started = timed ? clock.nanoTime() : now;
      Execution execution = batch.program().execute(device, staging);
      batch.started(execution, started);
      inFlight = true;
    } catch (RuntimeException e) {
      delivery.fail(batch, e);
      batch.clear();
    }
  }

  /** Ends a batch whose every member was cancelled while it was assembled. */
  private boolean nobodyWantsIt() {
    for (int member = 0; member < batch.size(); member++) {
      if (!batch.request(member).isCancelRequested()) {
        return false;
      }
    }
    for (int member = 0; member < batch.size(); member++) {
      endings.cancelled(batch.lane(), batch.request(member));
    }
    batch.clear();
    return true;
  }

  private void onExecuted() {
    inFlight = false;
    RuntimeException failure = null;
    try {
      batch.execution().await();
    } catch (RuntimeException e) {
      failure = e;
    }
    batch.ended(clock.nanoTime());
    // A run that failed held the device too.
    lanes.ran(batch.lane(), batch.computeNanos(), batch.endedNanos());
    try {
      if (failure == null) {
        batch.program().cost().record(batch.computeNanos(), batch.endedNanos());
        delivery.deliver(batch);
      } else {
        delivery.fail(batch, failure);
      }
    } finally {
      batch.execution().close();
      batch.program().closeInputs();
      batch.clear();
    }
  }

  private void measureCycle(long now) {
    if (cycling && now - cycleStartNanos > longestCycleNanos) {
      longestCycleNanos = now - cycleStartNanos;
    }
    cycling = true;
    cycleStartNanos = now;
  }
}
