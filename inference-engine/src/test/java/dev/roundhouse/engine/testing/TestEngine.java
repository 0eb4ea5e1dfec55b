package dev.roundhouse.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.time.ManualClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An engine on a simulated device and a clock that stands still, run by the test's own thread:
 * nothing happens until {@link #step}.
 */
public final class TestEngine {
  private final ManualClock clock = new ManualClock(1_000_000);
  private final SimulatedDevice device;
  private final SteppedEngine stepped;
  private final Map<InferenceRequest, Outcome> outcomes = new HashMap<>();
  private final List<InferenceRequest> finished = new ArrayList<>();

  public TestEngine(SimulatedDeviceOptions options, int maxQueueDepth) {
    this(options, maxQueueDepth, new Fifo());
  }

  public TestEngine(SimulatedDeviceOptions options, int maxQueueDepth, Discipline discipline) {
    this(
        options,
        EngineOptions.builder()
            .maxQueueDepth(maxQueueDepth)
            .maxHandOver(4096)
            .discipline(() -> discipline)
            .build());
  }

  /**
   * @param engineOptions whatever their clock, it is this engine's that counts
   */
  public TestEngine(SimulatedDeviceOptions options, EngineOptions engineOptions) {
    device = new SimulatedDevice(options, clock);
    stepped = SteppedEngine.open(engineOptions.toBuilder().clock(clock).build(), device);
  }

  public static TestEngine of(ReferenceFunction function) {
    return new TestEngine(SimulatedDeviceOptions.instant(function), 1024);
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

  public ModelStatus load(Path folder) {
    return engine().load(folder).join();
  }

  public ModelStatus load(Path folder, double weight) {
    ModelStatus status = load(folder);
    assertThat(engine().setWeight(status.name(), weight)).isTrue();
    step();
    return status;
  }

  public ModelTotals counters(String model) {
    return engine().counters(model).orElseThrow();
  }

  public InferenceRequest submit(String model, InputTensor... inputs) {
    return submit(model, InferenceRequest.NO_DEADLINE, List.of(), inputs);
  }

  public InferenceRequest submit(
      String model, long deadlineNanos, List<String> outputs, InputTensor... inputs) {
    InferenceRequest request =
        new InferenceRequest(
            model, "", "r", List.of(inputs), outputs, deadlineNanos, this::onOutcome);
    return submit(request);
  }

  /** Submits a call that a meta's run makes; null for a caller's own. */
  public InferenceRequest submitFor(
      @Nullable MetaRun run, String model, long deadlineNanos, InputTensor... inputs) {
    return submit(
        new InferenceRequest(
            model, "", "r", List.of(inputs), List.of(), deadlineNanos, this::onOutcome, run));
  }

  /** A request that has not been submitted. */
  public InferenceRequest request(String model, InputTensor... inputs) {
    return new InferenceRequest(
        model, "", "r", List.of(inputs), List.of(), InferenceRequest.NO_DEADLINE, this::onOutcome);
  }

  public InferenceRequest submit(InferenceRequest request) {
    engine().submit(request);
    return request;
  }

  public boolean cancel(InferenceRequest request) {
    return engine().cancel(request);
  }

  /** One turn of the dispatch loop. */
  public int step() {
    return stepped.step();
  }

  /** Turns the loop, letting executions end, until nothing is left. */
  public void run() {
    while (stepped.hasWork()) {
      if (stepped.step() == 0 && !stepped.awaitDevice()) {
        clock.sleepUntil(stepped.nextReleaseNanos());
      }
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
    for (ModelStatus model : engine().models()) {
      assertThat(counters(model.name()).open()).as("open requests of %s", model.name()).isZero();
      assertThat(counters(model.name()).waiting()).as("waiting of %s", model.name()).isZero();
    }
  }

  /** Frees every model and checks that the device holds nothing any more. */
  public void assertNothingLeaks() {
    stepped.close();
    assertThat(device.openHandles()).isZero();
    device.close();
  }

  /** What requests that a test makes itself are completed by. */
  public void onOutcome(InferenceRequest request, Outcome outcome) {
    assertThat(outcomes.put(request, outcome)).as("outcomes of one request").isNull();
    finished.add(request);
  }
}
