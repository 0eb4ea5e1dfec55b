package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import dev.roundhouse.platform.audit.Audit;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Marker;
import org.slf4j.event.LoggingEvent;

/**
 * Lets through the first records of a {@link Repeated} kind in a while, counts the others, and at
 * the end of the while says how many there were. Decides before a record is made, without a lock,
 * in memory that does not grow: kinds beyond its places are all let through. Leaves alone what
 * changes were asked for, debug messages, and loggers that show them. Thread-safe.
 */
final class Repeats extends TurboFilter {
  static final int MOST = 10;
  static final long WHILE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Kinds that are known at a time; a power of two. */
  private static final int PLACES = 256;

  private static final String TOLD = "{} ... and {} more like it in {} s";

  private final AtomicReferenceArray<@Nullable Repeated> places =
      new AtomicReferenceArray<>(PLACES);
  private final LongSupplier clock;
  private final Later later;

  /** Runs a task after so many nanoseconds. */
  @FunctionalInterface
  interface Later {
    void run(Runnable task, long nanos);
  }

  Repeats(LongSupplier clock, Later later) {
    this.clock = clock;
    this.later = later;
  }

  static Repeats of(LoggerContext context) {
    return new Repeats(
        System::nanoTime,
        (task, nanos) -> {
          var unused =
              context.getScheduledExecutorService().schedule(task, nanos, TimeUnit.NANOSECONDS);
        });
  }

  /** By the fluent calls, which have asked for the level before. */
  @Override
  public FilterReply decide(Logger logger, LoggingEvent event) {
    return decide(
        null,
        logger,
        Level.convertAnSLF4JLevel(event.getLevel()),
        event.getMessage(),
        event.getArgumentArray(),
        event.getThrowable());
  }

  @Override
  public FilterReply decide(
      @Nullable Marker marker,
      Logger logger,
      Level level,
      @Nullable String format,
      Object @Nullable [] arguments,
      @Nullable Throwable thrown) {
    if (format == null
        || level.levelInt <= Level.DEBUG_INT
        || format.equals(TOLD)
        || !counts(logger, level)) {
      return FilterReply.NEUTRAL;
    }
    String text = Repeated.text(level, format, arguments);
    if (text.length() > Repeated.MOST_TEXT) {
      return FilterReply.NEUTRAL;
    }
    String cause = Repeated.cause(level, arguments, thrown);
    int place = Repeated.hash(logger, text) & (PLACES - 1);
    long now = clock.getAsLong();
    Repeated known = places.get(place);
    if (known == null || now - known.beganNanos() >= WHILE_NANOS) {
      places.compareAndSet(place, known, new Repeated(logger, level, text, cause, now));
      return FilterReply.NEUTRAL;
    }
    if (!known.is(logger, level, text, cause)) {
      return FilterReply.NEUTRAL; // the place is another's for now
    }
    int count = known.count();
    if (count <= MOST) {
      return FilterReply.NEUTRAL;
    }
    known.last(format, arguments);
    if (count == MOST + 1) {
      tellLater(known, now);
    }
    return FilterReply.DENY;
  }

  private static boolean counts(Logger logger, Level level) {
    int shown = logger.getEffectiveLevel().levelInt;
    return shown > Level.DEBUG_INT
        && shown <= level.levelInt
        && !logger.getName().equals(Audit.LOGGER);
  }

  private void tellLater(Repeated repeated, long now) {
    try {
      later.run(() -> tell(repeated), repeated.beganNanos() + WHILE_NANOS - now);
    } catch (RejectedExecutionException stopping) {
      // the process ends, and with it what would be told
    }
  }

  private static void tell(Repeated repeated) {
    int left = repeated.close() - MOST;
    Object[] told = {repeated.lastText(), left, TimeUnit.NANOSECONDS.toSeconds(WHILE_NANOS)};
    switch (repeated.level().levelInt) {
      case Level.ERROR_INT -> repeated.logger().error(TOLD, told);
      case Level.WARN_INT -> repeated.logger().warn(TOLD, told);
      default -> repeated.logger().info(TOLD, told);
    }
  }
}
