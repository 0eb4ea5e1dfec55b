package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.turns.HotModelTurns;
import dev.roundhouse.pjrt.PjrtDevice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** A model with work at all times: rows a second, divided by those of a bare PJRT loop. */
public final class HotModelRate implements Step {
  private static final HotModelTurns.Plan PLAN = new HotModelTurns.Plan(15, 1_000, 6_000);

  @Override
  public String name() {
    return "hot-model";
  }

  @Override
  public String about() {
    return "rows a second through the engine / through a bare loop, with uploads and downloads";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(70);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws InterruptedException {
    Path folder = context.models().resolve(HotModelTurns.MODEL);
    for (int batch : new int[] {1, 64}) {
      try (PjrtDevice device = context.openDevice()) {
        Comparison rows = HotModelTurns.measure(device, folder, batch, PLAN);
        findings.figure(
            "%s, batch %d, engine / bare loop".formatted(HotModelTurns.MODEL, batch),
            rows.ratio(),
            "ratio",
            String.format(
                Locale.ROOT,
                "%.0f against %.0f rows/s; pairs from %.2f to %.2f; the goal is 0.98 or more",
                rows.ours(),
                rows.peer(),
                rows.lowestRatio(),
                rows.highestRatio()));
      }
    }
  }
}
