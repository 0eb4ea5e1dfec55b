package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * What callers notice when models are replaced: 100 small models under steady calls, of which one
 * gets new weights every second, against the same calls while nothing is replaced.
 */
final class Reload implements Bench {
  private static final int MODELS = 100;

  /** A mebibyte of weights, and some 200 us of one processor. */
  private static final int WIDTH = 512;

  private static final int LAYERS = 8;
  private static final int DEPTH = 16;
  private static final double PART_OF_CAPACITY = 0.5;
  private static final long CACHE_BYTES = 1L << 30;
  private static final EngineOptions OPTIONS =
      EngineOptions.builder().residency(ColdLoadTurns.COPIED).build();

  @Override
  public String name() {
    return "residency-reload";
  }

  @Override
  public String about() {
    return "p99 while one of 100 models is replaced every second, against p99 while none is";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create();
        PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
        Compilation compilation =
            new Compilation(
                device,
                Optional.empty(),
                Optional.of(ExecutableCache.open(scratch.path().resolve("cache"), CACHE_BYTES)));
        Engine engine = Engine.open(OPTIONS, compilation.device())) {
      run.say("%s: writing and loading %d models", name(), MODELS);
      measure(run, new OpenLoop(engine, models(scratch, engine)), new Replacing(engine, scratch));
    }
  }

  private void measure(BenchRun run, OpenLoop callers, Replacing replacing) throws Exception {
    Duration warmUp = Duration.ofSeconds(run.quick() ? 1 : 5);
    Duration window = Duration.ofSeconds(run.quick() ? 2 : 6);
    int rounds = run.quick() ? 2 : 6;
    run.say("%s: replacing each model a few times, so that the code that does is warm", name());
    replacing.all(run.quick() ? 2 : 10);
    callers.closed(DEPTH, warmUp);
    double rate = callers.closed(DEPTH, warmUp) * PART_OF_CAPACITY;
    callers.poisson(rate, warmUp);
    run.say("%s: %d rounds of %d s, %.0f calls/s", name(), rounds, window.toSeconds(), rate);
    Pairs p99 = new Pairs();
    int failed = 0;
    for (int round = 0; round < rounds; round++) {
      OpenLoop.Load steady = callers.poisson(rate, window);
      CompletableFuture<Void> replaced = replacing.during(window);
      OpenLoop.Load during = callers.poisson(rate, window);
      replaced.join();
      p99.add(during.p99Millis(), steady.p99Millis());
      failed += steady.failed() + during.failed();
    }
    String cell = "100 models, copied, %.0f calls/s: ".formatted(rate);
    run.cells()
        .accept(new Cell(name(), cell + "p99, vs steady", p99.compare(), "ms", Goal.atMost(1.1)));
    run.cells()
        .accept(
            new Cell(
                name(),
                cell + "calls that failed",
                new Comparison(failed, 0, failed, failed, failed),
                "calls",
                Goal.atMost(0)));
  }

  private static List<ServedLayers> models(Scratch scratch, Engine engine) throws IOException {
    List<ServedLayers> models = new ArrayList<>();
    for (int i = 0; i < MODELS; i++) {
      LayeredModel first = new LayeredModel(WIDTH, 1, LAYERS, i);
      LayeredModel second = new LayeredModel(WIDTH, 1, LAYERS, MODELS + i);
      first.draft().write(folder(scratch, 0, i));
      second.draft().write(folder(scratch, 1, i));
      models.add(ServedLayers.of("m" + i, first, second));
      ColdLoadTurns.load(engine, folder(scratch, 0, i));
    }
    return models;
  }

  /** New files of the same name: every model has two folders. */
  private static Path folder(Scratch scratch, int which, int index) {
    return scratch.path().resolve("set" + which).resolve("m" + index);
  }

  /** Replaces a model every second, one after the other, by what did not serve last. */
  private static final class Replacing {
    private final Engine engine;
    private final Scratch scratch;
    private int next;

    Replacing(Engine engine, Scratch scratch) {
      this.engine = engine;
      this.scratch = scratch;
    }

    /** Replaces every model so many times, without a pause. */
    void all(int times) {
      for (int i = 0; i < times * MODELS; i++) {
        replaceNext();
      }
    }

    /** Completes when the last replacement within {@code window} serves. */
    CompletableFuture<Void> during(Duration window) {
      return CompletableFuture.runAsync(
          () -> {
            for (long second = 0; second < window.toSeconds(); second++) {
              long start = System.nanoTime();
              replaceNext();
              long left = TimeUnit.SECONDS.toNanos(1) - (System.nanoTime() - start);
              sleep(left);
            }
          });
    }

    private void replaceNext() {
      int which = next / MODELS % 2 == 0 ? 1 : 0;
      ColdLoadTurns.load(engine, folder(scratch, which, next++ % MODELS));
    }

    private static void sleep(long nanos) {
      try {
        TimeUnit.NANOSECONDS.sleep(nanos);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while models were replaced", e);
      }
    }
  }
}
