package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.LoggerContextVO;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Marker;
import org.slf4j.event.KeyValuePair;

/** A record whose message, context and exceptions are {@link Harmless}. */
record HarmlessEvent(ILoggingEvent event) implements ILoggingEvent {
  @Override
  public String getFormattedMessage() {
    return Harmless.line(String.valueOf(event.getFormattedMessage()));
  }

  @Override
  public String getMessage() {
    return Harmless.line(String.valueOf(event.getMessage()));
  }

  @Override
  public String getLoggerName() {
    return Harmless.line(event.getLoggerName());
  }

  @Override
  public @Nullable IThrowableProxy getThrowableProxy() {
    return HarmlessThrowable.of(event.getThrowableProxy());
  }

  @Override
  public Map<String, String> getMDCPropertyMap() {
    Map<String, String> context = event.getMDCPropertyMap();
    if (context == null || context.isEmpty()) {
      return Map.of();
    }
    Map<String, String> harmless = new HashMap<>(context);
    harmless.replaceAll((key, value) -> Harmless.line(String.valueOf(value)));
    return harmless;
  }

  @Override
  @SuppressWarnings("deprecation") // the interface has it
  public Map<String, String> getMdc() {
    return getMDCPropertyMap();
  }

  @Override
  public @Nullable List<KeyValuePair> getKeyValuePairs() {
    List<KeyValuePair> pairs = event.getKeyValuePairs();
    return pairs == null
        ? null
        : pairs.stream()
            .map(each -> new KeyValuePair(each.key, Harmless.line(String.valueOf(each.value))))
            .toList();
  }

  @Override
  public String getThreadName() {
    return event.getThreadName();
  }

  @Override
  public Level getLevel() {
    return event.getLevel();
  }

  @Override
  public Object @Nullable [] getArgumentArray() {
    return event.getArgumentArray();
  }

  @Override
  public LoggerContextVO getLoggerContextVO() {
    return event.getLoggerContextVO();
  }

  @Override
  public StackTraceElement[] getCallerData() {
    return event.getCallerData();
  }

  @Override
  public boolean hasCallerData() {
    return event.hasCallerData();
  }

  @Override
  public @Nullable List<Marker> getMarkerList() {
    return event.getMarkerList();
  }

  @Override
  public long getTimeStamp() {
    return event.getTimeStamp();
  }

  @Override
  public int getNanoseconds() {
    return event.getNanoseconds();
  }

  @Override
  public Instant getInstant() {
    return event.getInstant();
  }

  @Override
  public long getSequenceNumber() {
    return event.getSequenceNumber();
  }

  @Override
  public void prepareForDeferredProcessing() {
    event.prepareForDeferredProcessing();
  }
}
