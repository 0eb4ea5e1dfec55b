package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;

/** Writes records by a pattern, whichever it is, with texts that are {@link Harmless}. */
final class HarmlessEncoder extends PatternLayoutEncoder {
  /** Why a start failed: the operator's own settings, in several lines. */
  private static final String START = "org.springframework.boot.diagnostics.";

  /** A new one in the place of {@code configured}, not started. */
  static HarmlessEncoder like(PatternLayoutEncoder configured) {
    HarmlessEncoder encoder = new HarmlessEncoder();
    encoder.setContext(configured.getContext());
    encoder.setPattern(configured.getPattern());
    encoder.setCharset(configured.getCharset());
    encoder.setOutputPatternAsHeader(configured.isOutputPatternAsHeader());
    return encoder;
  }

  @Override
  public byte[] encode(ILoggingEvent event) {
    return super.encode(event.getLoggerName().startsWith(START) ? event : new HarmlessEvent(event));
  }
}
