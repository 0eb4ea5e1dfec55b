package dev.roundhouse.engine.hook;

import java.text.MessageFormat;
import java.util.Locale;
import java.util.ResourceBundle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of a model's hooks, {@code hooks.NAME}. */
final class HookLogger implements System.Logger {
  private final Logger log;

  HookLogger(String model) {
    log = LoggerFactory.getLogger("hooks." + model);
  }

  @Override
  public String getName() {
    return log.getName();
  }

  @Override
  public boolean isLoggable(System.Logger.Level level) {
    return level != System.Logger.Level.OFF && log.isEnabledForLevel(level(level));
  }

  @Override
  public void log(
      System.Logger.Level level,
      @Nullable ResourceBundle texts,
      @Nullable String message,
      @Nullable Throwable thrown) {
    if (isLoggable(level)) {
      log.atLevel(level(level)).setCause(thrown).log(String.valueOf(message));
    }
  }

  @Override
  public void log(
      System.Logger.Level level,
      @Nullable ResourceBundle texts,
      @Nullable String format,
      @Nullable Object @Nullable ... values) {
    if (isLoggable(level)) {
      String text = String.valueOf(format);
      log.atLevel(level(level))
          .log(
              values == null || values.length == 0
                  ? text
                  : new MessageFormat(text, Locale.ROOT).format(values));
    }
  }

  private static org.slf4j.event.Level level(System.Logger.Level level) {
    return switch (level) {
      case ALL, TRACE -> org.slf4j.event.Level.TRACE;
      case DEBUG -> org.slf4j.event.Level.DEBUG;
      case INFO -> org.slf4j.event.Level.INFO;
      case WARNING -> org.slf4j.event.Level.WARN;
      case ERROR, OFF -> org.slf4j.event.Level.ERROR;
    };
  }
}
