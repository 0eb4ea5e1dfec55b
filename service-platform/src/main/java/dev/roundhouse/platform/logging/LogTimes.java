package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * How the times of log lines are written: as the operator's patterns say, or as ISO 8601 in UTC.
 * Not thread-safe.
 */
final class LogTimes {
  private static final Pattern TIME =
      Pattern.compile("%(-?\\d+)?(\\.-?\\d+)?d(ate)?(\\{[^}]*\\})?");
  private static final String ISO_8601 = "%d{yyyy-MM-dd'T'HH:mm:ss'Z', UTC}";

  private final Map<PatternLayoutEncoder, String> patterns = new IdentityHashMap<>();

  /** Takes note of the patterns that are in use. */
  LogTimes(LoggerContext context) {
    context
        .getLoggerList()
        .forEach(
            logger ->
                logger
                    .iteratorForAppenders()
                    .forEachRemaining(
                        appender -> {
                          if (appender instanceof OutputStreamAppender<ILoggingEvent> lines
                              && lines.getEncoder() instanceof PatternLayoutEncoder encoder) {
                            patterns.put(encoder, encoder.getPattern());
                          }
                        }));
  }

  /** False when no line's time is written by a pattern, so that none can be changed. */
  boolean canChange() {
    return patterns.values().stream().anyMatch(pattern -> TIME.matcher(pattern).find());
  }

  void writeIso8601() {
    patterns.forEach(
        (encoder, pattern) -> use(encoder, TIME.matcher(pattern).replaceAll(ISO_8601)));
  }

  void writeAsConfigured() {
    patterns.forEach(LogTimes::use);
  }

  /** Starting again makes a new layout and puts it in the place of the one in use. */
  private static void use(PatternLayoutEncoder encoder, String pattern) {
    encoder.setPattern(pattern);
    encoder.start();
  }
}
