package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LogSetupTest {
  private static final String FORGED = "x\n2026-11-23 ERROR Engine: forged\u001b[2J\u202e";
  private static final String SHOWN = "x\\n2026-11-23 ERROR Engine: forged\\u001b[2J\\u202e";

  private final LoggerContext context = new LoggerContext();
  private final LogbackMDCAdapter fields = new LogbackMDCAdapter();
  private final ByteArrayOutputStream lines = new ByteArrayOutputStream();
  private final Logger log = context.getLogger("dev.roundhouse.Engine");

  LogSetupTest() {
    context.setMDCAdapter(fields);
    log.setLevel(Level.INFO);
  }

  @AfterEach
  void stop() {
    context.stop();
  }

  @Test
  void shouldWriteARecordInOneLineWhateverAClientHasPutIntoIt() {
    logTo(appender("%level %logger{0}: %msg %X{request_id}%n"));
    fields.put("request_id", FORGED);
    log.info("model '{}' is not known", FORGED);
    fields.clear();
    assertThat(text()).isEqualTo("INFO Engine: model '" + SHOWN + "' is not known " + SHOWN + "\n");
  }

  @Test
  void shouldIndentAllButTheFirstLineOfAnException() {
    logTo(appender("%level %msg%n"));
    Exception cause = new IllegalArgumentException(FORGED);
    Exception thrown = new IllegalStateException(FORGED, cause);
    thrown.addSuppressed(new RuntimeException(FORGED));
    log.error("failed", thrown);
    assertThat(text()).contains("IllegalStateException: " + SHOWN + "\n\tat ");
    assertThat(text()).contains("Caused by: java.lang.IllegalArgumentException: " + SHOWN);
    assertThat(text()).contains("Suppressed: java.lang.RuntimeException: " + SHOWN);
    assertThat(text().lines().filter(line -> line.startsWith("2026"))).isEmpty();
  }

  @Test
  void shouldLeaveWhyAStartFailedInItsLines() {
    logTo(appender("%msg%n"));
    context
        .getLogger("org.springframework.boot.diagnostics.LoggingFailureAnalysisReporter")
        .error("\nDescription:\n\nit is wrong");
    assertThat(text()).isEqualTo("\nDescription:\n\nit is wrong\n");
  }

  @Test
  void shouldDoSoBehindAQueueAndWithAnotherPatternLater() {
    OutputStreamAppender<ILoggingEvent> last = appender("%msg%n");
    AsyncAppender queue = new AsyncAppender();
    queue.setContext(context);
    queue.addAppender(last);
    queue.start();
    logTo(queue);
    LogSetup.complete(context); // as for a second application in one process
    PatternLayoutEncoder encoder = (PatternLayoutEncoder) last.getEncoder();
    encoder.setPattern("> %msg%n");
    encoder.start();
    log.info("{}", FORGED);
    queue.stop(); // which waits for what is queued
    assertThat(text()).isEqualTo("> " + SHOWN + "\n");
  }

  private void logTo(Appender<ILoggingEvent> appender) {
    context.getLogger("ROOT").addAppender(appender);
    LogSetup.complete(context);
  }

  private OutputStreamAppender<ILoggingEvent> appender(String pattern) {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern(pattern);
    encoder.start();
    OutputStreamAppender<ILoggingEvent> appender = new OutputStreamAppender<>();
    appender.setContext(context);
    appender.setEncoder(encoder);
    appender.setOutputStream(lines);
    appender.start();
    return appender;
  }

  private String text() {
    return lines.toString(StandardCharsets.UTF_8);
  }
}
