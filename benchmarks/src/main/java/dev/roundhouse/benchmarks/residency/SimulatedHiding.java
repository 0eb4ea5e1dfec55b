package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.time.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * As {@link HiddenLoads}, on a simulated device with a link of 25 GB/s and in simulated time, so
 * exact. Weights, inputs and link are a thousand times smaller than they are said to be, so that
 * nothing is spent on copies that nobody looks at; loads take as long as they would.
 *
 * @param runNanos of the busy model
 */
record SimulatedHiding(Path scratch, long runNanos) {
  private static final long SCALE = 1_000;
  private static final long LINK_BYTES_PER_SECOND = 25_000_000_000L / SCALE;
  private static final long COLD_BYTES = 500_000_000 / SCALE;
  private static final long DEVICE_BYTES = COLD_BYTES * 3 / 2;
  private static final long COLD_RUN_NANOS = 1_000;
  private static final int OUTSTANDING = 8;

  /** An image of 224 x 224 x 3 numbers, as large a row as the width of the layers times 4. */
  private static final int WIDTH = (int) (602_112 / SCALE / Float.BYTES);

  private static final String BUSY = "simulated-busy";
  private static final List<String> COLD = List.of("simulated-cold0", "simulated-cold1");
  private static final long LENGTH_NANOS = 2_000_000_000L;

  /** The part of the loads' time that is hidden. */
  double measure() throws IOException {
    LayeredModel layers = new LayeredModel(WIDTH, 1, 1, 1);
    layers.draft().write(scratch.resolve(BUSY));
    for (int i = 0; i < COLD.size(); i++) {
      SummingModel.of(1, COLD_BYTES, i).draft().write(scratch.resolve(COLD.get(i)));
    }
    Stretch alone = stretch(layers, List.of());
    Stretch beside = stretch(layers, COLD);
    double lost = (alone.runs - beside.runs) * (double) runNanos;
    return 1 - lost / beside.loadNanos;
  }

  private record Stretch(long runs, long loadNanos) {}

  private Stretch stretch(LayeredModel layers, List<String> colds) {
    ManualClock clock = new ManualClock();
    try (SimulatedDevice device = new SimulatedDevice(device(), clock);
        SteppedEngine engine = SteppedEngine.open(options(clock), device)) {
      ColdLoadTurns.load(engine.engine(), scratch.resolve(BUSY));
      colds.forEach(cold -> ColdLoadTurns.load(engine.engine(), scratch.resolve(cold)));
      Resubmitting busy = new Resubmitting(engine.engine(), BUSY, LayeredModel.INPUT, layers.row());
      for (int i = 0; i < OUTSTANDING; i++) {
        busy.submit();
      }
      for (String cold : colds) {
        new Resubmitting(engine.engine(), cold, SummingModel.INPUT, SummingModel.ROW).submit();
      }
      run(engine, device, clock, LENGTH_NANOS / 10);
      Stretch before = counted(engine, colds);
      run(engine, device, clock, LENGTH_NANOS);
      Stretch after = counted(engine, colds);
      busy.check();
      return new Stretch(after.runs - before.runs, after.loadNanos - before.loadNanos);
    }
  }

  private static Stretch counted(SteppedEngine engine, List<String> colds) {
    return new Stretch(
        engine.engine().reports().counters(BUSY).orElseThrow().get(Metric.ROWS),
        colds.stream()
            .mapToLong(
                cold ->
                    engine.engine().reports().counters(cold).orElseThrow().get(Metric.WEIGHT_LOAD))
            .sum());
  }

  /** Moves the clock to whatever happens next, for so long. */
  private static void run(
      SteppedEngine engine, SimulatedDevice device, ManualClock clock, long nanos) {
    long end = clock.nanoTime() + nanos;
    while (clock.nanoTime() < end) {
      if (engine.step() == 0) {
        clock.sleepUntil(Math.min(end, nextMoment(engine, device, clock.nanoTime())));
      }
    }
  }

  private static long nextMoment(SteppedEngine engine, SimulatedDevice device, long now) {
    long moment = Long.MAX_VALUE;
    for (long each :
        new long[] {
          engine.nextMomentNanos(), device.linkBusyUntilNanos(), device.busyUntilNanos()
        }) {
      moment = each > now ? Math.min(moment, each) : moment;
    }
    return moment;
  }

  private SimulatedDeviceOptions device() {
    return new SimulatedDeviceOptions(
        DEVICE_BYTES,
        LINK_BYTES_PER_SECOND,
        program -> program.startsWith(BUSY) ? runNanos : COLD_RUN_NANOS,
        program -> ReferenceFunction.ZERO,
        1,
        Pinning.NONE);
  }

  private static EngineOptions options(ManualClock clock) {
    return EngineOptions.builder()
        .models(HiddenLoads.oneByOne(BUSY))
        .residency(
            ColdLoadTurns.COPIED
                .withWiggle(0)
                .withPartBytes(ResidencyOptions.DEFAULT.partBytes() / SCALE))
        .clock(clock)
        .build();
  }
}
