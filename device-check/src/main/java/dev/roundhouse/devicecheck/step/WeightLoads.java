package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.pjrt.PjrtDevice;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

/**
 * How fast the engine brings weights, against bare uploads of as many bytes in turns with it; and
 * how much of that is hidden when another model runs meanwhile.
 */
public final class WeightLoads implements Step {
  private static final List<Long> CPU_SIZES = List.of(1L << 20, 16L << 20, 256L << 20, 1L << 30);
  private static final List<Long> DEVICE_SIZES =
      List.of(1L << 20, 16L << 20, 256L << 20, 1L << 30, 4L << 30);
  private static final int MOST_PAIRS = 15;
  private static final int LEAST_PAIRS = 3;
  private static final Duration PER_SIZE = Duration.ofMillis(1500);
  private static final Duration RUNS = Duration.ofMillis(1200);

  @Override
  public String name() {
    return "weights";
  }

  @Override
  public String about() {
    return "weights to the device through the engine / bare uploads; beside runs; in parts";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(80);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    long room = HostRoom.bytes() / 6;
    List<Long> sizes = context.isCpu() ? CPU_SIZES : DEVICE_SIZES;
    List<Long> fitting = sizes.stream().filter(size -> size <= room).toList();
    EngineOptions options = ServedModels.options(context);
    try (PjrtDevice device = context.openCopyingDevice();
        LinkRate link = new LinkRate(device, fitting.getLast(), options.residency().use())) {
      new PartedUploads(device, link, fitting.getLast()).measure(findings);
      try (Engine engine = Engine.open(options, device)) {
        ServedModels served = new ServedModels(engine);
        for (long bytes : fitting) {
          measure(served, link, bytes, findings);
        }
        beside(served, context, findings);
      }
    }
    sizes.stream()
        .filter(size -> size > room)
        .forEach(
            size ->
                findings.notMeasured(
                    what(size), "more than a sixth of the memory that is free here"));
  }

  private static void measure(ServedModels served, LinkRate link, long bytes, Findings findings)
      throws InterruptedException {
    WeighedModel model = WeighedModel.of("weights-" + (bytes >> 20), bytes, 3);
    served.load(model);
    served.nanosToBring(model);
    link.wholeNanos(bytes);
    Pairs pairs = new Pairs();
    long begin = System.nanoTime();
    int count = 0;
    while (count < LEAST_PAIRS
        || count < MOST_PAIRS && System.nanoTime() - begin < PER_SIZE.toNanos()) {
      double ours = bytes / (double) served.nanosToBring(model);
      pairs.add(ours, bytes / (double) link.wholeNanos(bytes));
      count++;
    }
    Comparison rates = pairs.compare();
    findings.figure(
        what(bytes),
        rates.ratio(),
        "ratio",
        String.format(
            Locale.ROOT,
            "%.2f against %.2f GB/s%s; %d pairs from %.2f to %.2f",
            rates.ours(),
            rates.peer(),
            link.isPageLocked() ? " of page-locked memory" : "",
            count,
            rates.lowestRatio(),
            rates.highestRatio()));
    ClosedLoop.Result answer = ClosedLoop.ask(served.engine(), model);
    findings.check(what(bytes) + ", answers", answer.isRight(), answer.complaints());
    served.unload(model);
  }

  /** Loads of one model again and again while another has work at all times. */
  private static void beside(ServedModels served, CheckContext context, Findings findings)
      throws InterruptedException {
    WeighedModel busy =
        context.isCpu() ? WeighedModel.busy("busy", 512, 16) : WeighedModel.busy("busy", 4096, 16);
    long bytes = context.isCpu() ? 64L << 20 : 1L << 30;
    WeighedModel model = WeighedModel.of("beside", bytes, 5);
    Engine engine = served.engine();
    served.load(busy);
    served.load(model);
    engine.admin().setResidency(busy.name(), Residency.PINNED_DEVICE).join();
    Repeated load = Repeated.within(RUNS, () -> served.bring(model));
    long before = served.count(busy, Metric.EXECUTIONS);
    ClosedLoop.Result alone = ClosedLoop.run(engine, () -> busy, 3, RUNS);
    double runNanos = alone.seconds() * 1e9 / (served.count(busy, Metric.EXECUTIONS) - before);

    before = served.count(busy, Metric.EXECUTIONS);
    CompletableFuture<ClosedLoop.Result> runs =
        CompletableFuture.supplyAsync(
            () -> runs(engine, busy), task -> Thread.ofPlatform().start(task));
    int loads = 0;
    long begin = System.nanoTime();
    while (!runs.isDone()) {
      served.bring(model);
      loads++;
    }
    double together = System.nanoTime() - begin;
    ClosedLoop.Result answers = runs.join();
    double running = (served.count(busy, Metric.EXECUTIONS) - before) * runNanos;
    double loading = loads * load.medianNanos();
    findings.figure(
        "weights of %d MiB beside runs, part of the shorter that is hidden".formatted(bytes >> 20),
        (running + loading - together) / Math.min(running, loading),
        "ratio",
        String.format(
            Locale.ROOT,
            "1 is all, 0 is one after the other; alone a run takes %.2f ms and a load %.2f ms;"
                + " together %d runs and %d loads took %.0f ms",
            runNanos / 1e6,
            load.medianNanos() / 1e6,
            Math.round(running / runNanos),
            loads,
            together / 1e6));
    findings.check("answers beside loads", answers.isRight(), answers.complaints());
  }

  private static ClosedLoop.Result runs(Engine engine, WeighedModel busy) {
    try {
      return ClosedLoop.run(engine, () -> busy, 3, RUNS);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String what(long bytes) {
    return "weights of %d MiB, engine / bare upload".formatted(bytes >> 20);
  }
}
