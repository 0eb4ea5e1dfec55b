package dev.roundhouse.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.admission.Admission;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.DispatchLoop;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.LaneOptions;
import dev.roundhouse.engine.model.ModelLoader;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Accounting;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.time.ManualClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The engine's parts on a simulated device and a clock that stands still, run by the test's own
 * thread: nothing happens until {@link #step}.
 */
public final class SteppedEngine {
  private final ManualClock clock = new ManualClock(1_000_000);
  private final SimulatedDevice device;
  private final ModelRegistry registry = new ModelRegistry();
  private final DispatchProxy dispatch;
  private final Admission admission;
  private final ModelLoader loader;
  private final Map<InferenceRequest, Outcome> outcomes = new HashMap<>();
  private final List<InferenceRequest> finished = new ArrayList<>();
  private double weight = 1;

  public SteppedEngine(SimulatedDeviceOptions options, int maxQueueDepth) {
    this(options, maxQueueDepth, new Fifo());
  }

  public SteppedEngine(SimulatedDeviceOptions options, int maxQueueDepth, Discipline discipline) {
    device = new SimulatedDevice(options, clock);
    dispatch = new DispatchProxy(device, discipline, clock, 4096);
    admission = new Admission(registry, clock, maxQueueDepth, dispatch::submit);
    Residency residency = new Residency(device, HostMemory.ALIAS);
    loader =
        new ModelLoader(registry, device, residency, clock, 0.2, Runnable::run, this::activate);
  }

  public static SteppedEngine of(ReferenceFunction function) {
    return new SteppedEngine(SimulatedDeviceOptions.instant(function), 1024);
  }

  public ManualClock clock() {
    return clock;
  }

  public SimulatedDevice device() {
    return device;
  }

  public ModelStatus load(Path folder) {
    return load(folder, 1);
  }

  public ModelStatus load(Path folder, double weight) {
    this.weight = weight;
    return loader.load(folder).join();
  }

  public ModelCounters counters(String model) {
    return registry.find(model).orElseThrow().counters();
  }

  public InferenceRequest submit(String model, InputTensor... inputs) {
    return submit(model, InferenceRequest.NO_DEADLINE, List.of(), inputs);
  }

  public InferenceRequest submit(
      String model, long deadlineNanos, List<String> outputs, InputTensor... inputs) {
    InferenceRequest request =
        new InferenceRequest(
            model, "", "r", List.of(inputs), outputs, deadlineNanos, this::onOutcome);
    admission.submit(request);
    return request;
  }

  public boolean cancel(InferenceRequest request) {
    return Accounting.end(
        request,
        InferenceRequest.State.QUEUED,
        counters(request.modelName()),
        new Outcome.Cancelled("cancelled"));
  }

  /** One turn of the dispatch loop. */
  public int step() {
    return dispatch.loop().doWork();
  }

  /** Turns the loop, letting executions end, until nothing is left. */
  public void run() {
    DispatchLoop loop = dispatch.loop();
    while (loop.hasWork()) {
      loop.doWork();
      loop.awaitDevice();
    }
  }

  /** The outcome of a request that is over. */
  public Outcome outcome(InferenceRequest request) {
    Outcome outcome = outcomes.get(request);
    assertThat(outcome).as("request is over").isNotNull();
    return java.util.Objects.requireNonNull(outcome);
  }

  public Outcome.Completed completed(InferenceRequest request) {
    Outcome outcome = outcome(request);
    assertThat(outcome).isInstanceOf(Outcome.Completed.class);
    return (Outcome.Completed) outcome;
  }

  public boolean isOver(InferenceRequest request) {
    return outcomes.containsKey(request);
  }

  /** Requests in the order in which they ended. */
  public List<InferenceRequest> finished() {
    return finished;
  }

  /** Every accepted request ended exactly once, and none is left waiting. */
  public void assertQuiescent() {
    for (RegisteredModel model : registry.models()) {
      assertThat(model.counters().open()).as("open requests of %s", model.status().name()).isZero();
      assertThat(model.counters().waiting()).as("waiting of %s", model.status().name()).isZero();
    }
  }

  /** Frees every model and checks that the device holds nothing any more. */
  public void assertNothingLeaks() {
    registry.models().forEach(loader::unload);
    assertThat(device.openHandles()).isZero();
    device.close();
  }

  private CompletableFuture<Void> activate(ServedModel model) {
    CompletableFuture<Void> warmedUp =
        dispatch.activate(model, new LaneOptions(weight, Integer.MAX_VALUE));
    while (!warmedUp.isDone()) {
      dispatch.loop().doWork();
      dispatch.loop().awaitDevice();
    }
    return warmedUp;
  }

  private void onOutcome(InferenceRequest request, Outcome outcome) {
    assertThat(outcomes.put(request, outcome)).as("outcomes of one request").isNull();
    finished.add(request);
  }
}
