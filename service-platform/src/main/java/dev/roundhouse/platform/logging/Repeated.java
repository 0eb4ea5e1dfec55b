package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.helpers.MessageFormatter;

/**
 * Records that are like one another, in one while. Warnings and messages are when their texts
 * before arguments and the classes of their exceptions are the same; errors only when all that they
 * say is. Thread-safe.
 */
final class Repeated {
  /** Characters of a text that is compared; longer ones are like no other. */
  static final int MOST_TEXT = 1024;

  /** Makes counts after the end negative, so that what still comes then is shown. */
  private static final int CLOSED = Integer.MIN_VALUE;

  private final Logger logger;
  private final Level level;
  private final String text;
  private final String cause;
  private final long beganNanos;
  private final AtomicInteger count = new AtomicInteger(1);
  private volatile Said last;

  private record Said(String format, Object @Nullable [] arguments) {}

  Repeated(Logger logger, Level level, String text, String cause, long beganNanos) {
    this.logger = logger;
    this.level = level;
    this.text = text;
    this.cause = cause;
    this.beganNanos = beganNanos;
    last = new Said(text, null);
  }

  /** What makes a record like others. A format that begins with an argument says nothing itself. */
  static String text(Level level, String format, Object @Nullable [] arguments) {
    if (arguments == null || arguments.length == 0) {
      return format;
    }
    if (level != Level.WARN) { // that 1,000 models are ready are 1,000 facts
      return MessageFormatter.basicArrayFormat(format, arguments);
    }
    return format.startsWith("{}") ? String.valueOf(arguments[0]) : format;
  }

  /** Of its exception; empty for none. */
  static String cause(Level level, Object @Nullable [] arguments, @Nullable Throwable thrown) {
    Throwable of = thrown;
    if (of == null
        && arguments != null
        && arguments.length > 0
        && arguments[arguments.length - 1] instanceof Throwable given) {
      of = given; // as SLF4J takes it
    }
    if (of == null) {
      return "";
    }
    return level == Level.WARN ? of.getClass().getName() : of.toString();
  }

  static int hash(Logger logger, String text) {
    int hash = 31 * logger.getName().hashCode() + text.hashCode();
    return hash ^ (hash >>> 16);
  }

  boolean is(Logger ofLogger, Level ofLevel, String ofText, String ofCause) {
    return logger == ofLogger && level == ofLevel && text.equals(ofText) && cause.equals(ofCause);
  }

  long beganNanos() {
    return beganNanos;
  }

  Logger logger() {
    return logger;
  }

  Level level() {
    return level;
  }

  /** Counts one more; returns how many there are. */
  int count() {
    return count.incrementAndGet();
  }

  void last(String format, Object @Nullable [] arguments) {
    last = new Said(format, arguments);
  }

  String lastText() {
    Said said = last;
    return MessageFormatter.basicArrayFormat(said.format, said.arguments);
  }

  /** Ends the while; returns how many there were. */
  int close() {
    return count.getAndSet(CLOSED);
  }
}
