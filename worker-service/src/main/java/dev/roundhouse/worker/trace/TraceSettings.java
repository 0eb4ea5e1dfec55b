package dev.roundhouse.worker.trace;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.worker.trace.TraceSetting.Own;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What is traced, of all models and of single ones, by Triton's names and rules: a model's own
 * setting overrides the global one, and that the configuration. A setting without values is
 * removed. Thread-safe.
 */
public final class TraceSettings {
  private static final String LEVEL = "trace_level";
  private static final String RATE = "trace_rate";
  private static final String COUNT = "trace_count";
  private static final String FREQUENCY = "log_frequency";
  private static final String FILE = "trace_file";
  private static final String MODE = "trace_mode";
  private static final String ALL = "";

  private final TraceSetting configured;
  private final String file;
  private final boolean sendsSpans;
  private final Predicate<String> isKnown;
  private final Tracer tracer;
  private final Map<String, Own> own = new HashMap<>();
  private Sampling sampling;

  /**
   * @param configured the default
   * @param file of traces, as shown to callers; empty when nothing can be traced
   * @param sendsSpans whether there is a collector
   * @param isKnown whether a model exists
   */
  TraceSettings(
      TraceSetting configured,
      String file,
      boolean sendsSpans,
      Predicate<String> isKnown,
      Tracer tracer) {
    this.configured = configured;
    this.file = file;
    this.sendsSpans = sendsSpans;
    this.isKnown = isKnown;
    this.tracer = tracer;
    sampling = new Sampling(new Sampler(ALL, configured, configured.count()), Map.of());
    check(configured);
    tracer.use(sampling);
  }

  /**
   * The settings in effect for a model, by name.
   *
   * @param model empty for the global ones
   * @throws WireException INVALID_ARGUMENT when there is no such model
   */
  public synchronized Map<String, List<String>> current(String model) {
    checkKnown(model);
    Sampler sampler = sampling.of(model);
    TraceSetting setting = sampler.setting();
    Map<String, List<String>> values = new LinkedHashMap<>();
    values.put(LEVEL, setting.levels().names());
    values.put(RATE, List.of(Integer.toString(setting.rate())));
    values.put(COUNT, List.of(Integer.toString(sampler.remaining())));
    values.put(FREQUENCY, List.of(Integer.toString(setting.logFrequency())));
    values.put(FILE, List.of(file));
    values.put(MODE, List.of(setting.mode().text()));
    return values;
  }

  /**
   * Changes all given settings, or none when one of them is refused.
   *
   * @param model empty for what holds for all
   * @param settings values by name; a setting without values is removed
   * @throws WireException INVALID_ARGUMENT for a model, a name or a value that there is not,
   *     UNIMPLEMENTED for what cannot be changed
   */
  public synchronized void change(String model, Map<String, List<String>> settings) {
    checkKnown(model);
    Own changed = own.getOrDefault(model, Own.NOTHING);
    for (Map.Entry<String, List<String>> setting : settings.entrySet()) {
      changed = with(changed, setting.getKey(), setting.getValue());
    }
    if (settings.isEmpty()) {
      return;
    }
    Map<String, Own> next = new HashMap<>(own);
    if (changed.equals(Own.NOTHING)) {
      next.remove(model);
    } else {
      next.put(model, changed);
    }
    Sampling made = sampling(next, settings.containsKey(COUNT) ? model : null);
    Map<String, List<String>> before = current(model);
    own.clear();
    own.putAll(next);
    sampling = made;
    tracer.use(made);
    Audit.changed(
        "trace settings of " + (model.isEmpty() ? "all models" : "model '" + model + "'"),
        before,
        current(model));
  }

  /**
   * @param recounts the model whose count restarts; null for none
   */
  private Sampling sampling(Map<String, Own> next, @Nullable String recounts) {
    TraceSetting global = next.getOrDefault(ALL, Own.NOTHING).over(configured);
    check(global);
    Sampler ofAll = sampler(ALL, global, sampling.global(), ALL.equals(recounts));
    Map<String, Sampler> models = new HashMap<>();
    next.forEach(
        (model, ofModel) -> {
          if (!model.equals(ALL)) {
            TraceSetting setting = ofModel.over(global);
            check(setting);
            models.put(
                model,
                sampler(model, setting, sampling.models().get(model), model.equals(recounts)));
          }
        });
    return new Sampling(ofAll, models);
  }

  /**
   * The existing sampler when its setting is unchanged; else a new one that continues its count.
   */
  private static Sampler sampler(
      String owner, TraceSetting setting, @Nullable Sampler before, boolean recounts) {
    if (before == null || recounts || setting.count() != before.setting().count()) {
      return new Sampler(owner, setting, setting.count());
    }
    return setting.equals(before.setting())
        ? before
        : new Sampler(owner, setting, before.remaining());
  }

  private void check(TraceSetting setting) {
    if (setting.decidesSpans()) {
      checkSpans(setting);
    } else if (setting.levels().isOn() && file.isEmpty()) {
      throw WireException.invalidArgument(
          "Attempting to set invalid trace setting :trace file name is not given; have the operator set roundhouse.worker.trace.file");
    }
  }

  private void checkSpans(TraceSetting setting) {
    if (!sendsSpans) {
      throw WireException.invalidArgument(
          "trace_mode 'opentelemetry' needs a collector to send spans to; have the operator set roundhouse.worker.telemetry.endpoint");
    }
    if (setting.levels().tensors()) {
      throw WireException.invalidArgument(
          "trace_level 'TENSORS' is of trace_mode 'triton', as spans have no tensors; in 'opentelemetry' there are OFF and TIMESTAMPS");
    }
  }

  private void checkKnown(String model) {
    if (!model.equals(ALL) && !isKnown.test(model)) {
      throw WireException.invalidArgument("Request for unknown model : " + model);
    }
  }

  private Own with(Own before, String name, List<String> values) {
    return switch (name) {
      case LEVEL -> before.withLevels(values.isEmpty() ? null : levels(values));
      case RATE -> before.withRate(number(name, values, 1));
      case COUNT -> before.withCount(number(name, values, TraceSetting.NO_END));
      case FREQUENCY -> before.withLogFrequency(number(name, values, 0));
      case FILE -> {
        if (!values.isEmpty()) {
          throw new WireException(
              WireStatus.UNIMPLEMENTED,
              "trace file location can not be updated through network protocol; have the operator set roundhouse.worker.trace.file");
        }
        yield before;
      }
      case MODE -> before.withMode(values.isEmpty() ? null : mode(values));
      default ->
          throw WireException.invalidArgument(
              "unknown trace setting '%s'; those that can be changed are %s"
                  .formatted(name, String.join(", ", LEVEL, RATE, COUNT, FREQUENCY, MODE)));
    };
  }

  private static TraceMode mode(List<String> values) {
    if (values.size() > 1) {
      throw WireException.invalidArgument("expect only 1 value for '" + MODE + "'");
    }
    for (TraceMode mode : TraceMode.values()) {
      if (mode.text().equals(values.getFirst())) {
        return mode;
      }
    }
    throw WireException.invalidArgument(
        "unknown trace mode '%s'; there are %s and %s"
            .formatted(values.getFirst(), TraceMode.TRITON.text(), TraceMode.OPENTELEMETRY.text()));
  }

  private static TraceLevels levels(List<String> names) {
    boolean timestamps = false;
    boolean tensors = false;
    for (String name : names) {
      switch (name) {
        case "TIMESTAMPS" -> timestamps = true;
        case "TENSORS" -> tensors = true;
        case "OFF" -> {
          if (names.size() > 1) {
            throw WireException.invalidArgument("Expect only one trace level 'OFF' is specified");
          }
        }
        default ->
            throw WireException.invalidArgument(
                "unknown trace level '%s'; there are OFF, TIMESTAMPS and TENSORS".formatted(name));
      }
    }
    return new TraceLevels(timestamps, tensors);
  }

  /** The only value as a number; null when there is none. */
  private static @Nullable Integer number(String name, List<String> values, int least) {
    if (values.isEmpty()) {
      return null;
    }
    if (values.size() > 1) {
      throw WireException.invalidArgument("expect only 1 value for '" + name + "'");
    }
    String text = values.getFirst();
    try {
      long number = Long.parseLong(text);
      if (number >= least && number <= Integer.MAX_VALUE) {
        return (int) number;
      }
    } catch (NumberFormatException e) {
      throw WireException.invalidArgument("Unable to parse '%s', got: %s".formatted(name, text));
    }
    throw WireException.invalidArgument(
        "Unable to parse '%s', value is out of range [ %d, %d ], got: %s"
            .formatted(name, least, Integer.MAX_VALUE, text));
  }
}
