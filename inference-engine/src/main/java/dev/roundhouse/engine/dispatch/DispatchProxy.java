package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.lane.LaneOptions;
import dev.roundhouse.engine.lane.QueueDrops;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.residency.WeightUploader;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The thread-safe way to reach the dispatch loop. Hand-overs are bounded and never wait.
 *
 * <p>The loop's owner, a {@link DispatchThread} or a test, is woken through {@code wake}.
 */
public final class DispatchProxy {
  /** How often each program of a new model runs before the model is ready. */
  public static final int WARM_UP_RUNS = WarmUp.RUNS;

  private final DispatchContext context;
  private final Inbox inbox;
  private final DispatchLoop loop;

  /** Bytes of input memory that the slots have or have been sent. */
  private final AtomicLong stagingBytes = new AtomicLong(4096);

  private volatile Runnable wake = () -> {};
  private volatile boolean stopped;

  public DispatchProxy(DispatchContext context) {
    this.context = context;
    inbox = new Inbox(context.maxHandOver());
    loop = new DispatchLoop(context, inbox);
  }

  /** For the one thread that runs it. */
  DispatchLoop loop() {
    return loop;
  }

  /** For stepping an engine without threads. */
  public DispatchLoop loopToStep() {
    return loop;
  }

  FailStop failStop() {
    return context.failStop();
  }

  /** When the current reading of large outputs began; {@link DeviceCalls#NONE} while none are. */
  long outputsSinceNanos() {
    OutputsThread outputs = context.outputs();
    return outputs == null ? DeviceCalls.NONE : outputs.busySinceNanos();
  }

  /** What brings weights to the device on a thread of its own; null when none does. */
  @Nullable WeightUploader uploader() {
    WeightsThread weights = context.weights();
    return weights == null ? null : weights.uploader();
  }

  /** Hands an admitted request over; false when too many are pending. */
  public boolean submit(QueuedRequest request) {
    if (!inbox.requests().offer(request)) {
      return false;
    }
    VarHandle.fullFence(); // the hand-over is visible before the loop is asked whether it sleeps
    wake.run();
    if (stopped) {
      sweep();
    }
    return true;
  }

  /** A request was cancelled that may be in a batch which has not started. */
  public void cancelled() {
    loop.pipeline().next().noteCancelled();
    VarHandle.fullFence();
    wake.run();
  }

  /**
   * Has the loop add a model and warm up each of its programs. Allocates memory for its inputs, on
   * this thread, when its batches are larger than any before.
   *
   * @return completes when the model may be sent requests; exceptionally when a program does not
   *     run
   * @throws OutOfMemoryError when there is no memory for its inputs
   */
  public CompletableFuture<Void> activate(ProgramModel model, LaneOptions options) {
    CompletableFuture<Void> warmedUp = new CompletableFuture<>();
    long needed = stagingBytes(model);
    List<Staging.Memory> larger = larger(needed);
    if (command(new Command.Activate(model, options, larger, warmedUp))) {
      // Only now: a thread that reads it sends its own command after this one.
      stagingBytes.accumulateAndGet(needed, Math::max);
    } else {
      larger.forEach(Staging.Memory::close);
      warmedUp.completeExceptionally(
          new IllegalStateException(
              stopped
                  ? "the server is stopping"
                  : Inbox.MAX_COMMANDS + " models are waiting to be warmed up already"));
    }
    return warmedUp;
  }

  private static long stagingBytes(ProgramModel model) {
    long needed = 0;
    for (CompiledProgram program : model.programs()) {
      List<TensorType> inputs =
          program.program().parameters().subList(0, model.spec().inputs().size());
      needed = Math.max(needed, ProgramLayout.stagingBytes(inputs));
    }
    return needed;
  }

  private List<Staging.Memory> larger(long needed) {
    if (needed <= stagingBytes.get()) {
      return List.of();
    }
    List<Staging.Memory> larger = new ArrayList<>(BatchSlots.COUNT);
    try {
      for (int i = 0; i < BatchSlots.COUNT; i++) {
        larger.add(Staging.Memory.allocate(needed, context.device()));
      }
    } catch (RuntimeException | Error e) {
      larger.forEach(Staging.Memory::close);
      throw e;
    }
    return larger;
  }

  /**
   * Changes a model's weight.
   *
   * @return false, without effect, when too many commands are pending
   */
  public boolean setWeight(ProgramModel model, double weight) {
    return command(new Command.SetWeight(model, weight));
  }

  /**
   * Has the loop run what the model has accepted, held batches at once, and then let go of it. Call
   * it once admission no longer finds the model; hand-overs may still be pending.
   *
   * @return completes when the model's slot, programs and weights are free; cancelled when the loop
   *     stops first
   */
  public CompletableFuture<Void> retire(Servable model) {
    CompletableFuture<Void> retired = new CompletableFuture<>();
    inbox.retirements().add(new Command.Retire(model, retired));
    VarHandle.fullFence();
    wake.run();
    if (stopped) {
      retired.cancel(false);
    }
    return retired;
  }

  /**
   * Keeps a model's weights on the device, or lets them be evicted.
   *
   * @return completes when done; exceptionally when they do not fit beside what is pinned, or
   *     cannot be loaded; cancelled when the loop stops first or too many commands wait
   */
  public CompletableFuture<Void> pin(ProgramModel model, boolean pinned) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    if (!command(new Command.Pin(model, pinned, done))) {
      done.cancel(false);
    }
    return done;
  }

  /**
   * Has weights brought that are {@linkplain dev.roundhouse.engine.residency.ModelWeights#hold
   * held} and not on the device, when there is room for them. Does nothing when too many commands
   * wait.
   */
  public void bringAhead(ProgramModel model) {
    var unused = command(new Command.BringAhead(model));
  }

  /**
   * Evicts all weights that may leave now, and reloads some.
   *
   * @return completes when they are there, as {@link #pin} does
   */
  public CompletableFuture<Compacted> compact(List<ProgramModel> reload) {
    CompletableFuture<Compacted> done = new CompletableFuture<>();
    if (!command(new Command.Compact(reload, done))) {
      done.cancel(false);
    }
    return done;
  }

  /** Runs held batches and stops holding; false when too many commands wait. */
  public boolean stopHolding() {
    return command(new Command.StopHolding());
  }

  /** Bytes of weights on the device. */
  public long residentWeightBytes() {
    return loop.residentWeightBytes();
  }

  /** Longest time between two scheduling decisions while there was work. */
  public long longestCycleNanos() {
    return loop.pipeline().next().cycles().longestNanos();
  }

  /** As {@link #longestCycleNanos}, of the last half minute to minute. */
  public long recentCycleNanos() {
    return loop.pipeline().next().cycles().recentNanos(context.clock().nanoTime());
  }

  /** Nanoseconds since the start that the device ran, and was idle, by reason. */
  public Map<DeviceUse, Long> deviceTime() {
    return loop.pipeline().time().read();
  }

  /** Nanoseconds since the start that weights were on their way to the device. */
  public long linkNanos() {
    return loop.linkNanos();
  }

  /**
   * Asks for the loop's state. Takes the loop time linear in the number of models.
   *
   * @return cancelled when the loop stops first
   */
  public CompletableFuture<DispatchState> describe(DispatchState.Scope scope) {
    CompletableFuture<DispatchState> state = new CompletableFuture<>();
    if (!command(new Command.Describe(scope, state))) {
      state.cancel(false);
    }
    return state;
  }

  private boolean command(Command command) {
    if (stopped || !inbox.commands().offer(command)) {
      return false;
    }
    VarHandle.fullFence();
    wake.run();
    if (stopped) {
      sweep();
    }
    return true;
  }

  void wakeBy(Runnable wake) {
    this.wake = wake;
    for (StepThread beside : new StepThread[] {context.outputs(), context.weights()}) {
      if (beside != null) {
        beside.wakeDispatchBy(wake);
      }
    }
  }

  /** The loop's last turn, on the thread that runs it; from here on, hand-overs end at once. */
  public void stop() {
    loop.onStop();
    stopped = true;
    sweep();
  }

  /**
   * Ends every open request because the engine has failed; hand-overs end at once from here on. By
   * the thread that runs the loop, or by the watchdog that took its place.
   */
  void failStop(Throwable cause) {
    stopped = true;
    try {
      RequestsInLoop left = loop.endAll(cause);
      synchronized (this) {
        left.endHandedOver(inbox.requests());
      }
      sweep();
    } finally {
      context.failStop().onEnded(cause);
    }
  }

  /** Ends hand-overs that came too late for the loop: requests first, then what frees memory. */
  private synchronized void sweep() {
    for (QueuedRequest late = inbox.requests().poll();
        late != null;
        late = inbox.requests().poll()) {
      context.accounting().end(late, State.QUEUED, QueueDrops.STOPPING);
    }
    for (Command.Retire late = inbox.retirements().poll();
        late != null;
        late = inbox.retirements().poll()) {
      late.retired().cancel(false);
    }
    for (Command late = inbox.commands().poll(); late != null; late = inbox.commands().poll()) {
      abandon(late);
    }
  }

  private void abandon(Command command) {
    switch (command) {
      case Command.Activate activate -> {
        activate.warmedUp().cancel(false);
        // A device that has failed may hang in the call that unpins memory.
        if (context.failStop().cause() == null) {
          activate.larger().forEach(Staging.Memory::close);
        }
      }
      case Command.Describe describe -> describe.state().cancel(false);
      case Command.Pin pin -> pin.done().cancel(false);
      case Command.Compact compact -> compact.done().cancel(false);
      case Command.SetWeight change -> {}
      case Command.BringAhead bring -> {}
      case Command.StopHolding stop -> {}
    }
  }
}
