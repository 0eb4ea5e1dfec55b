package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.invoke.VarHandle;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The thread-safe way to reach the dispatch loop. Hand-overs are bounded and never wait.
 *
 * <p>Whoever owns the loop, a {@link DispatchThread} or a test, is woken through {@code wake}.
 */
public final class DispatchProxy {
  private static final int MAX_COMMANDS = 1024;

  private final Ingress<InferenceRequest> requests;
  private final Ingress<Command> commands = new Ingress<>(MAX_COMMANDS);

  /** Without a bound, for a retirement must not be lost; there are no more of them than models. */
  private final Queue<Command.Retire> retirements = new ConcurrentLinkedQueue<>();

  private final DispatchLoop loop;
  private volatile Runnable wake = () -> {};
  private volatile boolean stopped;

  /**
   * @param maxHandOver requests that may be on their way to the loop
   */
  public DispatchProxy(
      Device device,
      Discipline discipline,
      NanoClock clock,
      Accounting accounting,
      int maxHandOver) {
    requests = new Ingress<>(maxHandOver);
    loop = new DispatchLoop(device, discipline, clock, accounting, requests, commands, retirements);
  }

  /** For the one thread that runs it. */
  public DispatchLoop loop() {
    return loop;
  }

  /** Hands an admitted request over; false when too many are on their way. */
  public boolean submit(InferenceRequest request) {
    if (!requests.offer(request)) {
      return false;
    }
    VarHandle.fullFence(); // the hand-over is visible before the loop is asked whether it sleeps
    wake.run();
    if (stopped) {
      sweep();
    }
    return true;
  }

  /**
   * Has the loop take a model in and warm each of its programs up.
   *
   * @return completes when the model may be sent requests; exceptionally when a program does not
   *     run
   */
  public CompletableFuture<Void> activate(ServedModel model, LaneOptions options) {
    CompletableFuture<Void> warmedUp = new CompletableFuture<>();
    if (!command(new Command.Activate(model, options, warmedUp))) {
      warmedUp.completeExceptionally(
          new IllegalStateException(MAX_COMMANDS + " models are waiting to be warmed up already"));
    }
    return warmedUp;
  }

  /**
   * Gives a model another weight.
   *
   * @return false when too many commands are on their way; nothing happens then
   */
  public boolean setWeight(ServedModel model, double weight) {
    return command(new Command.SetWeight(model, weight));
  }

  /**
   * Has the loop run what the model has accepted, held batches at once, and then let go of it. To
   * be called when admission does not find the model any more; hand-overs may still be on their
   * way.
   *
   * @return completes when the model's slot, programs and weights are free; cancelled when the loop
   *     stops first
   */
  public CompletableFuture<Void> retire(ServedModel model) {
    CompletableFuture<Void> retired = new CompletableFuture<>();
    retirements.add(new Command.Retire(model, retired));
    VarHandle.fullFence();
    wake.run();
    if (stopped) {
      retired.cancel(false);
    }
    return retired;
  }

  /** Has held batches run, and none be held from now on; false when too many commands wait. */
  public boolean stopHolding() {
    return command(new Command.StopHolding());
  }

  /** Longest time between two choices while there was work. */
  public long longestCycleNanos() {
    return loop.longestCycleNanos();
  }

  /**
   * Asks where everything stands. Costs the loop time in proportion to the number of models: for
   * people who look, not for every scrape of a thousand.
   *
   * @return cancelled when the loop stops first
   */
  public CompletableFuture<DispatchState> describe() {
    CompletableFuture<DispatchState> state = new CompletableFuture<>();
    if (!command(new Command.Describe(state)) || stopped) {
      state.cancel(false);
    }
    return state;
  }

  private boolean command(Command command) {
    if (!commands.offer(command)) {
      return false;
    }
    VarHandle.fullFence();
    wake.run();
    return true;
  }

  void wakeBy(Runnable wake) {
    this.wake = wake;
  }

  /** The loop's last turn, on the thread that runs it; from here on, hand-overs end at once. */
  public void stop() {
    loop.onStop();
    stopped = true;
    sweep();
  }

  /** Ends what was handed over too late for the loop to see. */
  private synchronized void sweep() {
    for (Command.Retire late = retirements.poll(); late != null; late = retirements.poll()) {
      late.retired().cancel(false);
    }
    for (InferenceRequest late = requests.poll(); late != null; late = requests.poll()) {
      loop.shedLateHandOver(late);
    }
  }
}
