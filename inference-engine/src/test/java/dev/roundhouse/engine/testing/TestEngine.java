package dev.roundhouse.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.time.ManualClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An engine on a simulated device and a clock that stands still, run by the test's own thread:
 * nothing happens until {@link #step}.
 */
public final class TestEngine {
  private final ManualClock clock = new ManualClock(1_000_000);
  private final SimulatedDevice device;
  private final HookedDevice hooked;
  private final SteppedEngine stepped;
  private final Map<Submission, ReplySink> sinks = new HashMap<>();
  private final List<Submission> finished = new ArrayList<>();

  public TestEngine(SimulatedDeviceOptions options, int maxQueueDepth) {
    this(options, maxQueueDepth, new Fifo());
  }

  public TestEngine(SimulatedDeviceOptions options, int maxQueueDepth, Discipline discipline) {
    this(
        options,
        EngineOptions.builder()
            .maxQueueDepth(maxQueueDepth)
            .maxHandOver(4096)
            .discipline(forDevice(discipline))
            .build());
  }

  /**
   * @param engineOptions whatever their clock, it is this engine's that counts
   */
  public TestEngine(SimulatedDeviceOptions options, EngineOptions engineOptions) {
    this(options, engineOptions, true);
  }

  private TestEngine(
      SimulatedDeviceOptions options, EngineOptions engineOptions, boolean hostVisible) {
    device = new SimulatedDevice(options, clock);
    hooked = new HookedDevice(device, hostVisible, false);
    stepped = SteppedEngine.open(engineOptions.toBuilder().clock(clock).build(), hooked);
  }

  /** Has an engine share its device out by this discipline, and its link by another. */
  public static Supplier<Discipline> forDevice(Discipline discipline) {
    AtomicBoolean given = new AtomicBoolean();
    return () -> given.getAndSet(true) ? new Fifo() : discipline;
  }

  public static TestEngine of(ReferenceFunction function) {
    return of(function, true);
  }

  /**
   * @param hostVisible false for a device with memory of its own, whose outputs are read whole
   */
  public static TestEngine of(ReferenceFunction function, boolean hostVisible) {
    // Nothing of such a device's is to be read into memory that is not pinned.
    Pinning pinning = hostVisible ? Pinning.NONE : Pinning.REQUIRED;
    return new TestEngine(
        SimulatedDeviceOptions.instant(function).withPinning(pinning),
        EngineOptions.builder().discipline(Fifo::new).build(),
        hostVisible);
  }

  public Engine engine() {
    return stepped.engine();
  }

  public ManualClock clock() {
    return clock;
  }

  public SimulatedDevice device() {
    return device;
  }

  /** Has a test told of the calls that the engine makes of the device. */
  public void hook(HookedDevice.Hook hook) {
    hooked.hook(hook);
  }

  /** What the dispatch loop says of itself, after one more turn of it. */
  public DispatchState state() {
    CompletableFuture<SchedulerReport> report = engine().reports().schedulerWithReasons();
    step();
    return report.join().dispatch();
  }

  /** As {@link #state}, of the one version of a model. */
  public DispatchState.LaneState lane(String model) {
    return state().models().stream()
        .filter(lane -> lane.model().equals(model))
        .findFirst()
        .orElseThrow();
  }

  /** When something is to be done that only the clock announces. */
  public long nextMomentNanos() {
    return stepped.nextMomentNanos();
  }

  public ModelStatus load(Path folder) {
    return engine().admin().load(folder).join();
  }

  public ModelStatus load(Path folder, double weight) {
    ModelStatus status = load(folder);
    assertThat(engine().admin().setWeight(status.name(), weight)).isTrue();
    step();
    return status;
  }

  public ModelTotals counters(String model) {
    return engine().reports().counters(model).orElseThrow();
  }

  public Submission submit(String model, InputTensor... inputs) {
    return submit(request(model, inputs));
  }

  public Submission submit(
      String model, long deadlineNanos, List<String> outputs, InputTensor... inputs) {
    return submit(request(model, inputs).outputs(outputs).deadlineNanos(deadlineNanos));
  }

  /** Submits a call that a meta's run makes; null for a caller's own. */
  public Submission submitFor(
      @Nullable MetaRun run, String model, long deadlineNanos, InputTensor... inputs) {
    return submit(request(model, inputs).deadlineNanos(deadlineNanos).run(run));
  }

  /** A request to be submitted here. */
  public InferenceRequest.Builder request(String model, InputTensor... inputs) {
    return InferenceRequest.of(model, List.of(inputs), new ReplySink()).id("r");
  }

  public Submission submit(InferenceRequest.Builder builder) {
    InferenceRequest request = builder.build();
    ReplySink sink = (ReplySink) request.sink();
    Submission submission = engine().submit(request);
    sinks.put(submission, sink);
    sink.reply().thenAccept(reply -> finished.add(submission));
    return submission;
  }

  /** Has something done as soon as a request has ended, by the thread that ends it. */
  public void onFinished(Submission request, Runnable then) {
    Objects.requireNonNull(sinks.get(request)).reply().thenRun(then);
  }

  public boolean cancel(Submission request) {
    return request.cancel();
  }

  /** One turn of the dispatch loop. */
  public int step() {
    return stepped.step();
  }

  /** Turns the loop, letting executions end, until nothing is left. */
  public void run() {
    while (stepped.hasWork()) {
      stepOrWait();
    }
  }

  /** One turn of the loop, or time passes until there is something to do. */
  public void stepOrWait() {
    if (stepped.step() == 0 && !stepped.awaitDevice()) {
      clock.sleepUntil(stepped.nextMomentNanos());
    }
  }

  private ReplySink.Reply reply(Submission request) {
    ReplySink sink = Objects.requireNonNull(sinks.get(request));
    assertThat(sink.reply()).as("request is over").isDone();
    return sink.reply().join();
  }

  /** The outcome of a request that is over. */
  public Outcome outcome(Submission request) {
    return reply(request).outcome();
  }

  /** What a request that ran was answered. */
  public ReplySink.Reply completed(Submission request) {
    assertThat(outcome(request)).isInstanceOf(Outcome.Completed.class);
    return reply(request);
  }

  public boolean isOver(Submission request) {
    return Objects.requireNonNull(sinks.get(request)).reply().isDone();
  }

  /** Requests in the order in which they ended. */
  public List<Submission> finished() {
    return finished;
  }

  /** Every accepted request ended exactly once, and none is left waiting. */
  public void assertQuiescent() {
    for (ModelStatus model : engine().reports().models()) {
      assertThat(counters(model.name()).open()).as("open requests of %s", model.name()).isZero();
      assertThat(counters(model.name()).waiting()).as("waiting of %s", model.name()).isZero();
    }
    assertThat(engine().heldBytes()).as("bytes that requests and answers hold").isZero();
  }

  /** Frees every model and checks that the device holds nothing any more. */
  public void assertNothingLeaks() {
    stepped.close();
    assertThat(device.openHandles()).isZero();
    device.close();
  }
}
