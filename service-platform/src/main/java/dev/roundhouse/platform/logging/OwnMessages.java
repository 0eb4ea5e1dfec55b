package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Marker;

/**
 * Lets messages of the worker's own loggers through by their level, each level by itself; a
 * logger's threshold cannot leave one out from the middle. Until it is told which, thresholds
 * decide. Thread-safe.
 */
final class OwnMessages extends TurboFilter {
  static final String LOGGER = "dev.roundhouse";

  private volatile @Nullable Set<Level> shown;

  void show(Set<Level> levels) {
    shown = Set.copyOf(levels);
  }

  @Override
  public FilterReply decide(
      @Nullable Marker marker,
      Logger logger,
      Level level,
      @Nullable String format,
      Object @Nullable [] arguments,
      @Nullable Throwable thrown) {
    Set<Level> levels = shown;
    if (levels == null || !isOwn(logger.getName())) {
      return FilterReply.NEUTRAL;
    }
    return levels.contains(level) ? FilterReply.ACCEPT : FilterReply.DENY;
  }

  private static boolean isOwn(String logger) {
    return logger.startsWith(LOGGER)
        && (logger.length() == LOGGER.length() || logger.charAt(LOGGER.length()) == '.');
  }
}
