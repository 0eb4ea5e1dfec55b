package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.ProgramFile;
import dev.roundhouse.bundle.Repository;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtExecutable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** Every program of the samples: what compiling takes against loading what was compiled before. */
public final class CompileTimes implements Step {
  private static final Duration PER_PROGRAM = Duration.ofMillis(200);

  @Override
  public String name() {
    return "compile";
  }

  @Override
  public String about() {
    return "compile against deserialise, for every sample program";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(60);
  }

  @Override
  public void run(CheckContext context, Findings findings) {
    try (PjrtDevice device = context.openDevice()) {
      for (Path folder : Repository.list(context.models())) {
        try (Bundle bundle = BundleReader.read(folder)) {
          for (ProgramFile file : bundle.programs(device.description().platform())) {
            measure(device, bundle.name() + " " + file.name(), file.read(), findings);
          }
        }
      }
    }
  }

  private static void measure(PjrtDevice device, String name, byte[] code, Findings findings) {
    long start = System.nanoTime();
    try (PjrtExecutable program = device.compile(new ProgramSource(name, code))) {
      double first = System.nanoTime() - start;
      byte[] serialized = program.serialize();
      Repeated load = Repeated.within(PER_PROGRAM, () -> device.load(name, serialized).close());
      findings.figure(
          name + ", compile / load",
          first / load.medianNanos(),
          "ratio",
          String.format(
              Locale.ROOT,
              "%.2f ms once, against %.2f ms, median of %d; %d B of text, %d B serialised",
              first / 1e6,
              load.medianNanos() / 1e6,
              load.count(),
              code.length,
              serialized.length));
    }
  }
}
