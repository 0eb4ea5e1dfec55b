package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.audit.Audit;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the worker logs of its own, by Triton's names and rules. Info, warnings, errors and verbose
 * messages are switched on and off each by itself; {@code log_verbose_level} 1 shows debug
 * messages, 2 and above trace messages too. Other libraries' messages are the operator's to
 * configure. Thread-safe.
 */
public final class LogSettings implements AutoCloseable {
  private static final String FILE = "log_file";
  private static final String INFO = "log_info";
  private static final String WARNING = "log_warning";
  private static final String ERROR = "log_error";
  private static final String VERBOSE = "log_verbose_level";
  private static final String FORMAT = "log_format";
  private static final String DEFAULT_FORMAT = "default";
  private static final String ISO_8601 = "ISO8601";

  private final LoggerContext context;
  private final String file;
  private final OwnMessages messages = new OwnMessages();
  private final LogTimes times;
  private @Nullable Values changed;

  /**
   * @param context configured, by the operator's settings
   * @param file that is logged to, as callers are told; empty for none
   */
  public LogSettings(LoggerContext context, String file) {
    this.context = context;
    this.file = file;
    times = new LogTimes(context);
    context.addTurboFilter(messages);
  }

  /** Every setting by name: {@link Boolean}, {@link Long} or {@link String}. */
  public synchronized Map<String, Object> current() {
    Values values = values();
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put(FILE, file);
    settings.put(INFO, values.info);
    settings.put(WARNING, values.warning);
    settings.put(ERROR, values.error);
    settings.put(VERBOSE, values.verboseLevel);
    settings.put(FORMAT, values.iso8601 ? ISO_8601 : DEFAULT_FORMAT);
    return settings;
  }

  /**
   * Changes all the settings given, or none when one of them is refused.
   *
   * @param settings by name; values as in {@link #current}, null for one without a value
   * @throws WireException INVALID_ARGUMENT for a name that there is not or a value of another type,
   *     UNIMPLEMENTED for what cannot be changed
   */
  public synchronized void change(Map<String, ? extends @Nullable Object> settings) {
    Values values = values();
    for (Map.Entry<String, ? extends @Nullable Object> setting : settings.entrySet()) {
      values = values.with(setting.getKey(), setting.getValue());
    }
    if (settings.isEmpty()) {
      return;
    }
    if (values.iso8601 != values().iso8601) {
      changeTimes(values.iso8601);
    }
    Map<String, Object> before = current();
    messages.show(values.shown());
    changed = values;
    Audit.changed("log settings", before, current());
  }

  /** Has everything be logged as the operator configured it. */
  @Override
  public synchronized void close() {
    context.getTurboFilterList().remove(messages);
    times.writeAsConfigured();
  }

  private void changeTimes(boolean iso8601) {
    if (!times.canChange()) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED,
          "log_format cannot be changed: this server's log lines are not written by a pattern with a time");
    }
    if (iso8601) {
      times.writeIso8601();
    } else {
      times.writeAsConfigured();
    }
  }

  private Values values() {
    return changed == null ? configured() : changed;
  }

  private Values configured() {
    Level threshold = context.getLogger(OwnMessages.LOGGER).getEffectiveLevel();
    boolean trace = Level.TRACE.isGreaterOrEqual(threshold);
    boolean debug = Level.DEBUG.isGreaterOrEqual(threshold);
    return new Values(
        Level.INFO.isGreaterOrEqual(threshold),
        Level.WARN.isGreaterOrEqual(threshold),
        Level.ERROR.isGreaterOrEqual(threshold),
        trace ? 2 : debug ? 1 : 0,
        false);
  }

  private record Values(
      boolean info, boolean warning, boolean error, long verboseLevel, boolean iso8601) {

    Values with(String name, @Nullable Object value) {
      return switch (name) {
        case FILE ->
            throw new WireException(
                WireStatus.UNIMPLEMENTED,
                "log file location can not be updated through network protocol; set logging.file.name and start the server again");
        case INFO -> new Values(flag(name, value), warning, error, verboseLevel, iso8601);
        case WARNING -> new Values(info, flag(name, value), error, verboseLevel, iso8601);
        case ERROR -> new Values(info, warning, flag(name, value), verboseLevel, iso8601);
        case VERBOSE -> new Values(info, warning, error, level(value), iso8601);
        case FORMAT -> new Values(info, warning, error, verboseLevel, isIso8601(value));
        default ->
            throw WireException.invalidArgument(
                "unknown log setting '%s'; those that can be changed are %s"
                    .formatted(name, String.join(", ", INFO, WARNING, ERROR, VERBOSE, FORMAT)));
      };
    }

    Set<Level> shown() {
      Set<Level> levels = new HashSet<>();
      add(levels, info, Level.INFO);
      add(levels, warning, Level.WARN);
      add(levels, error, Level.ERROR);
      add(levels, verboseLevel >= 1, Level.DEBUG);
      add(levels, verboseLevel >= 2, Level.TRACE);
      return levels;
    }

    private static void add(Set<Level> levels, boolean shown, Level level) {
      if (shown) {
        levels.add(level);
      }
    }

    private static boolean flag(String name, @Nullable Object value) {
      if (value instanceof Boolean flag) {
        return flag;
      }
      throw WireException.invalidArgument(
          "expect boolean for '%s', got: %s".formatted(name, value));
    }

    private static long level(@Nullable Object value) {
      if (value instanceof Long level && level >= 0 && level <= Integer.MAX_VALUE) {
        return level;
      }
      throw WireException.invalidArgument(
          "expect int32 for '%s', from 0, got: %s".formatted(VERBOSE, value));
    }

    private static boolean isIso8601(@Nullable Object value) {
      if (!(value instanceof String format)) {
        throw WireException.invalidArgument(
            "expect string for '%s', got: %s".formatted(FORMAT, value));
      }
      return switch (format) {
        case ISO_8601 -> true;
        case DEFAULT_FORMAT -> false;
        default ->
            throw WireException.invalidArgument(
                "invalid argument for log_format, got: %s; it is %s or %s"
                    .formatted(format, DEFAULT_FORMAT, ISO_8601));
      };
    }
  }
}
