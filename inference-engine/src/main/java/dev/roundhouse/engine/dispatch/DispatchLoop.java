package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.schedule.BatchPlan;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
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
  private static final Outcome EXITING =
      new Outcome.Shed(Status.UNAVAILABLE, "Server exiting; send the request elsewhere");

  private final Device device;
  private final Discipline discipline;
  private final NanoClock clock;
  private final Ingress<InferenceRequest> requests;
  private final Ingress<Command> commands;
  private final List<@Nullable ModelLane> lanes = new ArrayList<>();
  private final WarmUp warmUp;
  private final StagingSlot staging = new StagingSlot();
  private @Nullable Batch inFlight;
  private boolean warmedLast;

  DispatchLoop(
      Device device,
      Discipline discipline,
      NanoClock clock,
      Ingress<InferenceRequest> requests,
      Ingress<Command> commands) {
    this.device = device;
    this.discipline = discipline;
    this.clock = clock;
    this.requests = requests;
    this.commands = commands;
    this.warmUp = new WarmUp(device, staging, clock);
  }

  /**
   * Does what can be done without waiting.
   *
   * @return how many things it did; 0 when there was nothing, or the device is busy
   */
  public int doWork() {
    int work = takeRequests();
    Batch running = inFlight;
    if (running != null) {
      if (!running.execution().isDone()) {
        return work;
      }
      inFlight = null;
      onExecuted(running);
      work++;
    }
    return work + takeCommands() + runNext();
  }

  /** Waits for the device when it is busy; false, at once, when it is not. */
  public boolean awaitDevice() {
    Batch running = inFlight;
    if (running == null) {
      return false;
    }
    try {
      running.execution().await();
    } catch (DeviceException e) {
      // doWork finds the execution over and reports the failure to its requests.
      log.debug("execution failed", e);
    }
    return true;
  }

  /** When the next held batch is due; {@link Long#MAX_VALUE} when none is held. */
  public long nextReleaseNanos() {
    return Long.MAX_VALUE;
  }

  /** True when {@link #doWork} would find something to do. */
  public boolean hasWork() {
    return inFlight != null
        || !discipline.isEmpty()
        || !warmUp.isEmpty()
        || !requests.isEmpty()
        || !commands.isEmpty();
  }

  /** Lets the running batch end, sheds what waits and frees what the loop holds. The last call. */
  void onStop() {
    Batch running = inFlight;
    if (running != null) {
      inFlight = null;
      onExecuted(running); // waits for the device
    }
    takeRequests();
    for (ModelLane lane : lanes) {
      if (lane != null) {
        shedAll(lane);
      }
    }
    warmUp.abandon();
    for (Command next = commands.poll(); next != null; next = commands.poll()) {
      if (next instanceof Command.Activate activate) {
        activate.warmedUp().cancel(false);
      }
    }
    staging.close();
  }

  private int takeCommands() {
    int work = 0;
    for (Command next = commands.poll(); next != null; next = commands.poll()) {
      switch (next) {
        case Command.Activate activate -> onActivate(activate);
        case Command.SetWeight change -> discipline.register(change.slot(), change.weight());
      }
      work++;
    }
    return work;
  }

  private void onActivate(Command.Activate activate) {
    int slot = activate.model().slot();
    try {
      LaneOptions options = activate.options();
      ModelLane lane = new ModelLane(activate.model(), options.rowCap());
      while (lanes.size() <= slot) {
        lanes.add(null);
      }
      lanes.set(slot, lane);
      discipline.register(slot, options.weight());
      for (PreparedProgram program : lane.programs()) {
        staging.ensureCapacity(program.stagingBytes());
      }
      warmUp.add(lane, activate.warmedUp());
    } catch (RuntimeException e) {
      forget(slot);
      activate.warmedUp().completeExceptionally(e);
    }
  }

  /** Lets go of a model that does not run: it must not keep a share of the device. */
  private void forget(int slot) {
    if (slot < lanes.size() && lanes.set(slot, null) != null) {
      discipline.unregister(slot);
    }
  }

  private int takeRequests() {
    int taken = 0;
    while (taken < REQUESTS_PER_CYCLE) {
      InferenceRequest request = requests.poll();
      if (request == null) {
        break;
      }
      int slot = request.admitted().slot();
      ModelLane lane = lane(slot);
      lane.queue().add(request);
      if (lane.queue().size() == 1 || discipline.watchesQueues()) {
        rank(lane);
      }
      taken++;
    }
    return taken;
  }

  private int runNext() {
    if (!warmUp.isEmpty() && (discipline.isEmpty() || !warmedLast)) {
      warmedLast = true;
      ModelLane broken = warmUp.runOne();
      if (broken != null) {
        forget(broken.model().slot());
      }
      return 1;
    }
    warmedLast = false;
    if (discipline.isEmpty()) {
      return 0;
    }
    long now = clock.nanoTime();
    int slot = discipline.choose();
    ModelLane lane = lane(slot);
    dropOver(lane, now);
    if (!lane.queue().isEmpty()) {
      runBatch(lane, now);
    }
    if (lane.queue().isEmpty()) {
      discipline.notReady(slot);
    } else {
      rank(lane);
    }
    return 1;
  }

  private void runBatch(ModelLane lane, long now) {
    BatchPlan plan = lane.plan(now);
    int variant = lane.queue().get(0).admitted().variant();
    PreparedProgram program = lane.program(variant, plan.batchSize());
    long margin = discipline.shedsByCost() ? program.cost().highNanos() : 0;
    List<Slice> slices = claim(lane, plan, now, margin);
    if (slices.isEmpty()) {
      if (margin > 0) {
        // Dropped for what a run costs, and nothing runs that could prove the figure wrong.
        program.cost().doubt();
      }
      return;
    }
    int rows = 0;
    for (Slice slice : slices) {
      rows += slice.rows();
    }
    try {
      BatchAssembler.assemble(program, slices, staging);
      long started = clock.nanoTime();
      Execution execution = program.execute(device, staging);
      inFlight = new Batch(lane, program, slices, rows, execution, now, started, 0);
    } catch (RuntimeException e) {
      fail(lane, slices, e);
    }
  }

  /** Takes what was planned out of the queue; returns what is to run. */
  private List<Slice> claim(ModelLane lane, BatchPlan plan, long now, long marginNanos) {
    List<Slice> slices = new ArrayList<>(plan.requests());
    for (int i = 0; i < plan.requests(); i++) {
      InferenceRequest request = lane.queue().get(0);
      if (ModelLane.isLate(request, now + marginNanos)) {
        shedLate(lane, now);
      } else if (lane.hasBegun()) {
        slices.add(lane.take(plan.batchSize()));
      } else if (request.start()) {
        lane.model().counters().leave();
        Slice first = lane.take(plan.batchSize());
        first.answer().waited(now - request.arrivalNanos());
        slices.add(first);
      } else {
        lane.queue().remove();
      }
    }
    return slices;
  }

  private void onExecuted(Batch running) {
    RuntimeException failure = null;
    try {
      running.execution().await();
    } catch (RuntimeException e) {
      failure = e;
    }
    Batch batch = running.ended(clock.nanoTime());
    // A run that failed held the device too.
    discipline.charge(batch.lane().model().slot(), batch.computeNanos(), batch.endedNanos());
    try {
      if (failure != null) {
        throw failure;
      }
      batch.program().cost().record(batch.computeNanos());
      deliver(batch);
    } catch (RuntimeException e) {
      fail(batch.lane(), batch.slices(), e);
    } finally {
      batch.execution().close();
      batch.program().closeInputs();
    }
  }

  private void deliver(Batch batch) {
    ModelCounters counters = batch.lane().model().counters();
    counters.increment(Metric.EXECUTIONS);
    counters.add(Metric.ROWS, batch.rows());
    counters.add(Metric.PADDING_ROWS, batch.paddingRows());
    counters.add(Metric.COMPUTE, batch.computeNanos());
    int row = 0;
    for (Slice slice : batch.slices()) {
      try {
        slice.answer().gather(batch, slice, row);
        if (slice.isLast()) {
          answer(batch, slice);
        }
      } catch (RuntimeException e) {
        // One request's trouble, such as an answer too large for an array, is not its batch-mates'.
        fail(batch.lane(), List.of(slice), e);
      }
      row += slice.rows();
    }
  }

  private void answer(Batch batch, Slice last) {
    Answer answer = last.answer();
    batch.lane().model().counters().add(Metric.QUEUE_WAIT, answer.queueNanos());
    var outputs = answer.tensors(batch.program());
    var timings =
        new Outcome.Timings(
            answer.queueNanos(),
            answer.inputNanos(),
            answer.computeNanos(),
            clock.nanoTime() - batch.endedNanos(),
            batch.rows());
    end(
        batch.lane(),
        last.request(),
        new Outcome.Completed(batch.lane().model().version(), outputs, timings));
  }

  /** Removes requests at the front that are cancelled or can no longer be answered in time. */
  private void dropOver(ModelLane lane, long now) {
    ModelQueue queue = lane.queue();
    queue.dropEnded();
    while (!queue.isEmpty() && ModelLane.isLate(queue.get(0), now)) {
      shedLate(lane, now);
      queue.dropEnded();
    }
  }

  /** Drops the front request. */
  private void shedLate(ModelLane lane, long now) {
    var expected = lane.hasBegun() ? InferenceRequest.State.RUNNING : InferenceRequest.State.QUEUED;
    InferenceRequest request = lane.queue().remove();
    end(
        lane,
        request,
        expected,
        new Outcome.Shed(
            Status.DEADLINE_EXCEEDED,
            "%s after %d us in the queue of model '%s'"
                .formatted(
                    ModelLane.isLate(request, now)
                        ? "deadline passed"
                        : "too little time left for a run",
                    (now - request.arrivalNanos()) / 1000,
                    lane.model().name())));
  }

  private void shedAll(ModelLane lane) {
    while (!lane.queue().isEmpty()) {
      var expected =
          lane.hasBegun() ? InferenceRequest.State.RUNNING : InferenceRequest.State.QUEUED;
      end(lane, lane.queue().remove(), expected, EXITING);
    }
  }

  /** Ends a request that came too late for this loop. */
  void shedExiting(InferenceRequest request) {
    ModelLane lane = lane(request.admitted().slot());
    end(lane, request, InferenceRequest.State.QUEUED, EXITING);
  }

  private void fail(ModelLane lane, List<Slice> slices, RuntimeException cause) {
    Outcome.Failed outcome = Failures.outcome(lane.model().name(), cause);
    for (Slice slice : slices) {
      end(lane, slice.request(), outcome);
    }
  }

  private void end(ModelLane lane, InferenceRequest request, Outcome outcome) {
    end(lane, request, InferenceRequest.State.RUNNING, outcome);
  }

  private void end(
      ModelLane lane, InferenceRequest request, InferenceRequest.State expected, Outcome outcome) {
    try {
      Accounting.end(request, expected, lane.model().counters(), outcome);
    } catch (RuntimeException e) {
      // A caller's fault must not reach the other requests of the batch, nor end the loop.
      log.warn("a request's completion threw; model '{}'", lane.model().name(), e);
    }
  }

  /** Tells the discipline where a model stands; its queue is not empty. */
  private void rank(ModelLane lane) {
    ModelQueue queue = lane.queue();
    // Only a discipline that watches queues looks at more than the front.
    boolean watches = discipline.watchesQueues();
    discipline.ready(
        lane.model().slot(),
        new Discipline.Front(
            queue.get(0).arrivalNanos(),
            watches ? queue.earliestDeadlineNanos() : InferenceRequest.NO_DEADLINE,
            watches ? lane.rowCostNanos(Long.MIN_VALUE) : 1));
  }

  private ModelLane lane(int slot) {
    ModelLane lane = lanes.get(slot);
    if (lane == null) {
      throw new IllegalStateException("no model in slot " + slot);
    }
    return lane;
  }
}
