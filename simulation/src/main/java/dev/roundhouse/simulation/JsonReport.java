package dev.roundhouse.simulation;

import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import java.io.PrintStream;
import java.util.Locale;

/** Findings as one JSON object per line; times in nanoseconds, shares from 0 to 1. */
final class JsonReport {
  private JsonReport() {}

  static void print(SimOptions options, Findings findings, PrintStream out) {
    StringBuilder line = new StringBuilder();
    line.append(
        String.format(
            Locale.ROOT,
            "{\"seed\":%d,\"workload\":\"%s\",\"models\":%d,\"discipline\":\"%s\",\"offered\":%d",
            options.seed(),
            options.workload().label(),
            options.models(),
            findings.discipline(),
            findings.offered()));
    for (End end : End.values()) {
      line.append(",\"%s\":%d".formatted(end.name().toLowerCase(Locale.ROOT), findings.count(end)));
    }
    line.append(
        String.format(
            Locale.ROOT,
            ",\"offered_per_second\":%.3f,\"goodput_per_second\":%.3f",
            findings.offeredRate(),
            findings.goodput()));
    line.append(
        ",\"p50_nanos\":%d,\"p99_nanos\":%d,\"p999_nanos\":%d"
            .formatted(
                findings.latency().p50(), findings.latency().p99(), findings.latency().p999()));
    line.append(
        String.format(
            Locale.ROOT,
            ",\"gap_over_bound\":%s,\"gap_models\":%d,\"waste\":%.6f,\"padding\":%.6f",
            Double.isNaN(findings.gap())
                ? "null"
                : String.format(Locale.ROOT, "%.6f", findings.gap()),
            findings.watched().size(),
            findings.device().wasteShare(),
            findings.device().paddingShare()));
    line.append(
        String.format(
            Locale.ROOT,
            ",\"mean_batch\":%.4f,\"runs\":%d,\"busy_nanos\":%d,\"elapsed_nanos\":%d,\"outcomes\":\"%016x\"}",
            findings.device().meanBatch(),
            findings.device().runs(),
            findings.device().busyNanos(),
            findings.elapsedNanos(),
            findings.hash()));
    out.println(line);
  }
}
