package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.pjrt.PjrtDevice;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** More models than fit: 200, of which 20 do, under callers who like some better than others. */
public final class ManyModels implements Step {
  private static final int MODELS = 200;
  private static final int FITTING = 20;
  private static final int CALLERS = 16;
  private static final double EXPONENT = 0.9;
  private static final long SEED = 11;
  private static final long DEVICE_BYTES = 100L << 20;
  private static final long CPU_BYTES = 16L << 20;
  private static final Duration WARM_UP = Duration.ofSeconds(2);
  private static final Duration MEASURED = Duration.ofSeconds(5);

  @Override
  public String name() {
    return "many-models";
  }

  @Override
  public String about() {
    return "200 models, memory for 20, Zipf load: latency, found on the device, link";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(90);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    long wanted = context.isCpu() ? CPU_BYTES : DEVICE_BYTES;
    long bytes = bytesPerModel(wanted);
    List<WeighedModel> models = new ArrayList<>();
    for (int i = 0; i < MODELS; i++) {
      models.add(WeighedModel.of("many-" + i, bytes, i + 1));
    }
    // Room for a run beside the weights, which are all that the budget is to count.
    long budget = FITTING * bytes + bytes / 2;
    EngineOptions copying = ServedModels.options(context);
    EngineOptions options =
        copying.toBuilder()
            .residency(copying.residency().withDeviceBytes(budget).withWiggle(0))
            .build();
    try (PjrtDevice device = context.openCopyingDevice();
        Engine engine = Engine.open(options, new CompiledOnce(device))) {
      double linkRate = linkRate(device, bytes, options);
      ServedModels served = new ServedModels(engine);
      long start = System.nanoTime();
      models.forEach(served::load);
      findings.figure(
          "200 models of %d MiB, all ready".formatted(bytes >> 20),
          (System.nanoTime() - start) / 1e9,
          "s",
          bytes == wanted
              ? ""
              : "%d MiB each are more than half of the memory here".formatted(wanted >> 20));
      Zipf choice = new Zipf(models, EXPONENT, SEED);
      ClosedLoop.run(engine, choice, CALLERS, WARM_UP);
      Counts before = Counts.of(served, models);
      ClosedLoop.Result result = ClosedLoop.run(engine, choice, CALLERS, MEASURED);
      tell(findings, result, Counts.of(served, models).minus(before), bytes, linkRate);
    }
  }

  /** What fits into half of the host's memory. */
  private static long bytesPerModel(long wanted) throws IOException {
    long mebibytes = HostRoom.bytes() / 2 / MODELS >> 20;
    return Math.clamp(mebibytes << 20, 1 << 20, wanted);
  }

  private static double linkRate(PjrtDevice device, long bytes, EngineOptions options) {
    try (LinkRate link = new LinkRate(device, bytes, options.residency().use())) {
      return bytes
          / Repeated.within(Duration.ofSeconds(1), () -> link.wholeNanos(bytes)).medianNanos();
    }
  }

  private static void tell(
      Findings findings, ClosedLoop.Result result, Counts counted, long bytes, double linkRate) {
    findings.check("every answer", result.isRight(), result.complaints());
    findings.figure(
        "latency, 99th percentile",
        result.percentile(0.99),
        "ms",
        String.format(
            Locale.ROOT,
            "median %.2f ms, longest %.2f ms; %.0f answers/s to %d callers; Zipf %.1f",
            result.percentile(0.5),
            result.percentile(1),
            result.nanos().length / result.seconds(),
            CALLERS,
            EXPONENT));
    findings.figure(
        "runs whose weights were on the device",
        1 - counted.loads / (double) counted.runs,
        "ratio",
        "%d runs, %d loads".formatted(counted.runs, counted.loads));
    double rate = counted.loads * bytes / result.seconds() / 1e9;
    findings.figure(
        "link use: bytes of weights, part of what bare uploads bring",
        rate / linkRate,
        "ratio",
        String.format(Locale.ROOT, "%.2f of %.2f GB/s", rate, linkRate));
  }

  private record Counts(long runs, long loads) {
    static Counts of(ServedModels served, List<WeighedModel> models) {
      return new Counts(
          served.count(models, Metric.EXECUTIONS), served.count(models, Metric.WEIGHT_LOADS));
    }

    Counts minus(Counts other) {
      return new Counts(runs - other.runs, loads - other.loads);
    }
  }
}
