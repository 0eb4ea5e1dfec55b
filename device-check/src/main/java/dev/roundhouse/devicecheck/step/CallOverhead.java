package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.turns.CallTurns;
import dev.roundhouse.pjrt.PjrtDevice;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** Execute, await and free of a tiny program through JNI, divided by what C++ takes for it. */
public final class CallOverhead implements Step {
  private static final CallTurns.Plan PLAN = new CallTurns.Plan(11, 100, 60_000);

  @Override
  public String name() {
    return "call-overhead";
  }

  @Override
  public String about() {
    return "execute + await + free of a tiny program: through JNI / by C++";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(50);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws IOException {
    int threads = Runtime.getRuntime().availableProcessors();
    try (PjrtDevice device = context.openDeviceBesideAnother()) {
      Path plugin = Path.of(device.description().attributes().getOrDefault("plugin", ""));
      CallTurns.Peer floor =
          new CallTurns.Peer(
              context.home().resolve("pjrt_floor"),
              plugin,
              context.platform(),
              threads,
              context.scratch());
      for (int arguments : new int[] {2, 100}) {
        CallTurns.Costs costs = CallTurns.measure(device, floor, arguments, PLAN);
        tell(findings, arguments + " arguments, time / floor", costs.wallNanos(), "ns");
        tell(findings, arguments + " arguments, CPU / floor", costs.cpuMicros(), "us");
      }
    }
  }

  private static void tell(Findings findings, String what, Comparison figures, String unit) {
    findings.figure(
        what,
        figures.ratio(),
        "ratio",
        String.format(
            Locale.ROOT,
            "%.2f against %.2f %s a call; pairs from %.2f to %.2f",
            figures.ours(),
            figures.peer(),
            unit,
            figures.lowestRatio(),
            figures.highestRatio()));
  }
}
