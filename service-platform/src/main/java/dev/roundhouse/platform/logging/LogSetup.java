package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.spi.AppenderAttachable;
import java.util.Iterator;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;

/**
 * Completes what Boot has set up of the operator's settings, before anything is logged: every
 * pattern writes {@link Harmless} texts, and {@link Repeats} are counted.
 */
final class LogSetup implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {
  @Override
  public int getOrder() {
    return LoggingApplicationListener.DEFAULT_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(ApplicationEnvironmentPreparedEvent prepared) {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      complete(context);
    }
  }

  static void complete(LoggerContext context) {
    if (context.getTurboFilterList().stream().noneMatch(Repeats.class::isInstance)) {
      context.addTurboFilter(Repeats.of(context));
    }
    context.getLoggerList().forEach(logger -> complete(logger.iteratorForAppenders()));
  }

  private static void complete(Iterator<Appender<ILoggingEvent>> appenders) {
    appenders.forEachRemaining(
        appender -> {
          if (appender instanceof OutputStreamAppender<ILoggingEvent> lines
              && lines.getEncoder() instanceof PatternLayoutEncoder encoder
              && !(encoder instanceof HarmlessEncoder)) {
            HarmlessEncoder harmless = HarmlessEncoder.like(encoder);
            harmless.setParent(lines);
            harmless.start();
            lines.setEncoder(harmless);
          } else if (appender instanceof AppenderAttachable<?> before) {
            complete(attached(before));
          }
        });
  }

  @SuppressWarnings("unchecked") // of this context all take records
  private static Iterator<Appender<ILoggingEvent>> attached(AppenderAttachable<?> to) {
    return ((AppenderAttachable<ILoggingEvent>) to).iteratorForAppenders();
  }
}
