package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * Which part of the time that loads take is hidden behind runs of a busy model: it always has work
 * while two others are called in turns, of which one fits beside it. On XLA's CPU plugin, where
 * copies and runs share the processors.
 */
record HiddenLoads(PjrtDevice device, Path scratch, int rounds, int millis) {
  private static final int OUTSTANDING = 4;
  private static final String BUSY = "busy";
  private static final List<String> COLD = List.of("cold0", "cold1");
  private static final LayeredModel LAYERS = new LayeredModel(256, 64, 4, 1);
  private static final long COLD_BYTES = 64 << 20;

  /** The busy model and one of the others, but not both. */
  private static final long DEVICE_BYTES = COLD_BYTES * 3 / 2;

  static Comparison measure(Path scratch, int rounds, int millis)
      throws IOException, InterruptedException {
    try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)) {
      return new HiddenLoads(device, scratch, rounds, millis).measure();
    }
  }

  private Comparison measure() throws IOException, InterruptedException {
    EngineOptions options =
        EngineOptions.builder()
            .models(oneByOne(BUSY))
            .residency(ColdLoadTurns.COPIED.withWiggle(0).withDeviceBytes(DEVICE_BYTES))
            .build();
    try (Engine engine = Engine.open(options, device)) {
      LAYERS.draft().write(scratch.resolve(BUSY));
      ColdLoadTurns.load(engine, scratch.resolve(BUSY));
      for (int i = 0; i < COLD.size(); i++) {
        SummingModel cold = SummingModel.of(1, COLD_BYTES, i);
        cold.draft().write(scratch.resolve(COLD.get(i)));
        ColdLoadTurns.load(engine, scratch.resolve(COLD.get(i)));
      }
      return new Rounds(engine).take(rounds, millis);
    }
  }

  /** Has a model's rows run alone, so that runs are of one length. */
  static Map<String, ModelOptions> oneByOne(String model) {
    return Map.of(
        model,
        new ModelOptions(
            OptionalDouble.empty(), OptionalInt.of(1), Optional.empty(), Optional.empty()));
  }

  /** Runs of the busy model and time of loads between two moments. */
  private record Stretch(double runsPerNano, double loadsPerNano) {}

  private record Rounds(Engine engine) {

    Comparison take(int rounds, int millis) throws InterruptedException {
      double[] hidden = new double[rounds];
      for (int round = -1; round < rounds; round++) {
        Stretch alone = stretch(List.of(), millis);
        Stretch beside = stretch(COLD, millis);
        double lost = 1 - beside.runsPerNano / alone.runsPerNano;
        if (round >= 0) {
          hidden[round] = 1 - lost / beside.loadsPerNano;
        }
      }
      Arrays.sort(hidden);
      double median = hidden[rounds / 2];
      return new Comparison(median, 1, median, hidden[0], hidden[rounds - 1]);
    }

    private Stretch stretch(List<String> colds, int millis) throws InterruptedException {
      List<Resubmitting> callers = new ArrayList<>();
      Resubmitting busy = new Resubmitting(engine, BUSY, LayeredModel.INPUT, LAYERS.row());
      callers.add(busy);
      for (int i = 0; i < OUTSTANDING; i++) {
        busy.submit();
      }
      for (String cold : colds) {
        Resubmitting caller = new Resubmitting(engine, cold, SummingModel.INPUT, SummingModel.ROW);
        callers.add(caller);
        caller.submit();
      }
      TimeUnit.MILLISECONDS.sleep(millis / 5); // until all that are to run do
      long start = System.nanoTime();
      long runs = runs();
      long loads = loadNanos();
      TimeUnit.MILLISECONDS.sleep(millis);
      double nanos = System.nanoTime() - start;
      Stretch stretch = new Stretch((runs() - runs) / nanos, (loadNanos() - loads) / nanos);
      callers.forEach(Resubmitting::stop);
      while (engine.openRequests() > 0) {
        TimeUnit.MILLISECONDS.sleep(1);
      }
      callers.forEach(Resubmitting::check);
      return stretch;
    }

    private long runs() {
      return engine.reports().counters(BUSY).orElseThrow().get(Metric.EXECUTIONS);
    }

    private long loadNanos() {
      return COLD.stream()
          .mapToLong(cold -> engine.reports().counters(cold).orElseThrow().get(Metric.WEIGHT_LOAD))
          .sum();
    }
  }
}
