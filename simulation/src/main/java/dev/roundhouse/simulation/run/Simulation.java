package dev.roundhouse.simulation.run;

import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.simulation.fleet.FleetMemory;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.ObservedDevice;
import dev.roundhouse.simulation.fleet.Promises;
import dev.roundhouse.simulation.fleet.Run;
import dev.roundhouse.simulation.traffic.Arrival;
import dev.roundhouse.simulation.traffic.Arrivals;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The real engine under simulated traffic. Moves the clock to the next event (an arrival, a
 * cancellation, the end of a run, the release of a held batch) and runs the engine until it has
 * nothing left to do at that time. Deterministic.
 */
public final class Simulation {
  private final Scenario scenario;
  private final ManualClock clock;
  private final ObservedDevice device;
  private final SteppedEngine engine;
  private final Ledger ledger;
  private final Arrivals arrivals;
  private final SplittableRandom demandRandom;
  private final PriorityQueue<Withdrawal> withdrawals =
      new PriorityQueue<>(
          Comparator.comparingLong(Withdrawal::nanos).thenComparing(Withdrawal::call));
  private final long startNanos;
  private final long countFromNanos;
  private long submitted;

  /** Residency counts when calls began to count; null before. */
  private Findings.@Nullable Residence uncounted;

  private Simulation(
      Scenario scenario,
      ManualClock clock,
      ObservedDevice device,
      SteppedEngine engine,
      Ledger ledger,
      SplittableRandom random) {
    this.scenario = scenario;
    this.clock = clock;
    this.device = device;
    this.engine = engine;
    this.ledger = ledger;
    arrivals = scenario.arrivals().apply(random.split());
    demandRandom = random.split();
    startNanos = clock.nanoTime();
    countFromNanos = startNanos + scenario.leadIn().toNanos();
  }

  /**
   * Runs a scenario to the last outcome.
   *
   * @throws IllegalStateException when the engine breaks one of its promises
   */
  public static Findings run(Scenario scenario) {
    SplittableRandom random = new SplittableRandom(scenario.seed());
    ManualClock clock = new ManualClock();
    Recorder recorder = new Recorder();
    Promises promises = new Promises();
    CallClock callClock = new CallClock(clock);
    try (ObservedDevice device =
            new ObservedDevice(
                scenario.fleet(),
                clock,
                scenario.mishaps(),
                random.split(),
                promises,
                recorder::onRun);
        SteppedEngine engine = SteppedEngine.open(options(scenario, clock, callClock), device)) {
      load(scenario, engine);
      if (scenario.residents() instanceof Residents.Only only) {
        pin(only.models(), engine);
      }
      Ledger ledger = new Ledger(scenario.fleet(), scenario.watched(), clock, promises);
      recorder.ledger = ledger;
      device.observe();
      callClock.start();
      Simulation simulation = new Simulation(scenario, clock, device, engine, ledger, random);
      simulation.toTheEnd();
      promises.check();
      Audit.check(scenario, engine.engine(), ledger);
      return simulation.findings();
    } catch (RuntimeException e) {
      throw new IllegalStateException(
          "simulation of seed " + scenario.seed() + " broke off: " + e.getMessage(), e);
    }
  }

  private Findings findings() {
    Findings.Residence before = uncounted;
    if (before == null) {
      throw new IllegalStateException(
          "the lead-in of %s outlasts the calls; have calls arrive for longer"
              .formatted(scenario.leadIn()));
    }
    return ledger
        .findings(scenario.discipline().get().name())
        .with(residence(scenario, engine).minus(before));
  }

  private static Findings.Residence residence(Scenario scenario, SteppedEngine engine) {
    long loads = 0;
    long evictions = 0;
    long nanos = 0;
    for (FleetModel model : scenario.fleet().models()) {
      ModelTotals totals = engine.engine().reports().counters(model.name()).orElseThrow();
      loads += totals.get(Metric.WEIGHT_LOADS);
      evictions += totals.get(Metric.WEIGHT_EVICTIONS);
      nanos += totals.get(Metric.WEIGHT_LOAD);
    }
    return new Findings.Residence(loads, evictions, nanos);
  }

  private static EngineOptions options(
      Scenario scenario, ManualClock clock, LongSupplier callClock) {
    return EngineOptions.builder()
        .discipline(scenario.discipline())
        .maxQueueDepth(scenario.maxQueueDepth())
        .maxQueueDelay(scenario.maxQueueDelay())
        .residency(residency(scenario.residents(), callClock))
        .clock(clock)
        .build();
  }

  private static ResidencyOptions residency(Residents residents, LongSupplier callClock) {
    ResidencyOptions options =
        ResidencyOptions.DEFAULT
            .withUse(HostMemory.COPY)
            .withWiggle(0)
            .withPartBytes(FleetMemory.simulatedPart(ResidencyOptions.DEFAULT.partBytes()));
    return switch (residents) {
      case Residents.OnDemand(var policy) -> options.withPolicy(() -> policy.apply(callClock));
      case Residents.Only only -> options.withSelfManaged(false);
    };
  }

  private static void load(Scenario scenario, SteppedEngine engine) {
    for (FleetModel model : scenario.fleet().models()) {
      ModelStatus status = engine.engine().admin().load(model.image()).join();
      if (status.state() != ModelState.READY) {
        throw new IllegalStateException("model '" + model.name() + "': " + status.reason());
      }
    }
  }

  private static void pin(List<FleetModel> models, SteppedEngine engine) {
    CompletableFuture<Void> there =
        CompletableFuture.allOf(
            models.stream()
                .map(
                    each ->
                        engine.engine().admin().setResidency(each.name(), Residency.PINNED_DEVICE))
                .toArray(CompletableFuture<?>[]::new));
    while (!there.isDone()) {
      engine.step();
      engine.awaitDevice();
    }
    there.join();
  }

  private void toTheEnd() {
    Arrival next = arrivals.next();
    while (true) {
      long now = clock.nanoTime();
      if (uncounted == null && now >= countFromNanos) {
        uncounted = residence(scenario, engine);
        ledger.startCounting();
      }
      while (next != null && startNanos + next.nanos() <= now) {
        submit(next);
        next = arrivals.next();
      }
      withdrawUntil(now);
      if (engine.step() > 0) {
        continue;
      }
      long at = nextMoment(next, now);
      if (at == Long.MAX_VALUE) {
        if (engine.hasWork() || ledger.open() > 0) {
          throw new IllegalStateException(
              "the engine stands still with %d calls open".formatted(ledger.open()));
        }
        return;
      }
      clock.sleepUntil(at);
    }
  }

  /** Time of the next event outside the engine; {@link Long#MAX_VALUE} for never. */
  private long nextMoment(@Nullable Arrival next, long now) {
    long release = engine.nextMomentNanos();
    // A batch that is due while the device is busy runs when the device is free.
    long at = release > now ? release : Long.MAX_VALUE;
    if (next != null) {
      at = Math.min(at, startNanos + next.nanos());
      at = countFromNanos > now ? Math.min(at, countFromNanos) : at;
    }
    Withdrawal first = withdrawals.peek();
    if (first != null) {
      at = Math.min(at, first.nanos());
    }
    if (device.linkBusyUntilNanos() > now) {
      at = Math.min(at, device.linkBusyUntilNanos());
    }
    if (device.busyUntilNanos() > now) {
      at = Math.min(at, device.busyUntilNanos());
    }
    return at;
  }

  private void submit(Arrival arrival) {
    Demand demand = scenario.demand();
    FleetModel model = scenario.fleet().model(arrival.model());
    long now = clock.nanoTime();
    int rows = 1;
    if (demand.oversize() > 0 && demandRandom.nextDouble() < demand.oversize()) {
      rows = 1 + demandRandom.nextInt(Demand.mostRows(model));
    }
    long patience = Demand.PATIENCE_NANOS;
    long deadline = InferenceRequest.NO_DEADLINE;
    if (demand.slo() != null) {
      patience = demand.slo().draw(demandRandom);
      deadline = now + patience;
    }
    InferenceRequest request =
        ledger.onArrival(model, rows, deadline).request(demand.deadlineTold());
    submitted++;
    Submission submission = engine.engine().submit(request);
    if (demand.cancelled() > 0 && demandRandom.nextDouble() < demand.cancelled()) {
      withdrawals.add(new Withdrawal(now + demandRandom.nextLong(patience), submitted, submission));
    }
  }

  private void withdrawUntil(long now) {
    Withdrawal first = withdrawals.peek();
    while (first != null && first.nanos() <= now) {
      withdrawals.remove();
      first.submission().cancel();
      first = withdrawals.peek();
    }
  }

  /** Time since the first possible arrival; -1 before. */
  private static final class CallClock implements LongSupplier {
    private final ManualClock clock;
    private boolean started;
    private long startNanos;

    CallClock(ManualClock clock) {
      this.clock = clock;
    }

    void start() {
      started = true;
      startNanos = clock.nanoTime();
    }

    @Override
    public long getAsLong() {
      return started ? clock.nanoTime() - startNanos : -1;
    }
  }

  /** A caller cancels its call. */
  private record Withdrawal(long nanos, long call, Submission submission) {}

  /** Passes events to the ledger, which is opened after the device. */
  private static final class Recorder {
    private @Nullable Ledger ledger;

    void onRun(Run run) {
      if (ledger != null) {
        ledger.onRun(run);
      }
    }
  }
}
