package dev.roundhouse.simulation;

import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import java.io.PrintStream;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Findings as one JSON object per line; times in nanoseconds, shares from 0 to 1. */
final class JsonReport {
  private static final JsonFactory JSON = new JsonFactory();

  private JsonReport() {}

  static void print(SimOptions options, Findings findings, PrintStream out) {
    StringWriter line = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), line)) {
      json.writeStartObject();
      json.writeNumberProperty("seed", options.seed());
      json.writeStringProperty("workload", options.workload().label());
      json.writeNumberProperty("models", options.models());
      json.writeNumberProperty("idle", options.idle());
      json.writeStringProperty("discipline", findings.discipline());
      json.writeNumberProperty("offered", findings.offered());
      for (End end : End.values()) {
        json.writeNumberProperty(end.name().toLowerCase(Locale.ROOT), findings.count(end));
      }
      number(json, "offered_per_second", findings.offeredRate(), 3);
      number(json, "goodput_per_second", findings.goodput(), 3);
      json.writeNumberProperty("p50_nanos", findings.latency().p50());
      json.writeNumberProperty("p99_nanos", findings.latency().p99());
      json.writeNumberProperty("p999_nanos", findings.latency().p999());
      number(json, "gap_over_bound", findings.gap(), 6);
      json.writeNumberProperty("gap_models", findings.watched().size());
      number(json, "waste", findings.device().wasteShare(), 6);
      number(json, "padding", findings.device().paddingShare(), 6);
      number(json, "mean_batch", findings.device().meanBatch(), 4);
      json.writeNumberProperty("runs", findings.device().runs());
      json.writeNumberProperty("busy_nanos", findings.device().busyNanos());
      json.writeNumberProperty("elapsed_nanos", findings.elapsedNanos());
      json.writeNumberProperty("weight_loads", findings.residence().loads());
      json.writeNumberProperty("weight_evictions", findings.residence().evictions());
      json.writeNumberProperty("weight_load_nanos", findings.residence().loadNanos());
      json.writeStringProperty("outcomes", String.format(Locale.ROOT, "%016x", findings.hash()));
      json.writeEndObject();
    }
    out.println(line);
  }

  /** Null for a share of nothing. */
  private static void number(JsonGenerator json, String name, double value, int digits) {
    if (Double.isFinite(value)) {
      BigDecimal exact = BigDecimal.valueOf(value);
      json.writeNumberProperty(name, exact.setScale(digits, RoundingMode.HALF_UP));
    } else {
      json.writeNullProperty(name);
    }
  }
}
