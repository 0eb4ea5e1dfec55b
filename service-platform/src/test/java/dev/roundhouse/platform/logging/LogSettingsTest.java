package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.OutputStreamAppender;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.audit.Audit;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LogSettingsTest {
  private final LoggerContext context = new LoggerContext();
  private final ByteArrayOutputStream lines = new ByteArrayOutputStream();
  private final Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
  private final Logger own = context.getLogger("dev.roundhouse.engine.Engine");
  private final Logger other = context.getLogger("dev.roundhousekeeping.Engine");
  private final LogSettings settings;

  LogSettingsTest() {
    context.setMDCAdapter(new LogbackMDCAdapter());
    log("%d{HH:mm} %-5level %logger{0}: %msg%n");
    root.setLevel(Level.WARN);
    context.getLogger("dev.roundhouse").setLevel(Level.INFO);
    settings = new LogSettings(context, "worker.log");
  }

  @AfterEach
  void stop() {
    context.stop();
  }

  @Test
  void shouldNotSwitchOffWhoChangedWhat() {
    Logger audit = context.getLogger(Audit.LOGGER);
    audit.setLevel(Level.INFO); // as logging.yaml has it
    settings.change(Map.of("log_info", false, "log_warning", false, "log_error", false));
    own.error("hidden");
    audit.info("10.0.0.1:4711 POST /v2/logging: done");
    assertThat(lines.toString(StandardCharsets.UTF_8))
        .contains("INFO  audit: 10.0.0.1:4711 POST /v2/logging: done")
        .doesNotContain("hidden");
  }

  @Test
  void shouldTellWhatIsConfigured() {
    assertThat(settings.current())
        .containsExactly(
            Map.entry("log_file", "worker.log"),
            Map.entry("log_info", true),
            Map.entry("log_warning", true),
            Map.entry("log_error", true),
            Map.entry("log_verbose_level", 0L),
            Map.entry("log_format", "default"));
    context.getLogger("dev.roundhouse").setLevel(Level.ERROR);
    assertThat(settings.current()).containsEntry("log_warning", false);
    context.getLogger("dev.roundhouse").setLevel(Level.DEBUG);
    assertThat(settings.current()).containsEntry("log_verbose_level", 1L);
  }

  @Test
  void shouldSwitchEachLevelByItself() {
    assertThat(shown()).isEqualTo("ERROR WARN INFO ");
    settings.change(Map.of("log_warning", false));
    assertThat(shown()).isEqualTo("ERROR INFO ");
    settings.change(Map.of("log_error", false, "log_info", false, "log_verbose_level", 1L));
    assertThat(shown()).isEqualTo("DEBUG ");
    settings.change(Map.of("log_verbose_level", 9L, "log_warning", true));
    assertThat(shown()).isEqualTo("WARN DEBUG TRACE ");
    assertThat(settings.current())
        .containsEntry("log_verbose_level", 9L)
        .containsEntry("log_error", false)
        .containsEntry("log_warning", true);
  }

  @Test
  void shouldLeaveOtherLoggersAsTheyAre() {
    settings.change(
        Map.of(
            "log_info", false, "log_warning", false, "log_error", false, "log_verbose_level", 2L));
    lines.reset();
    other.warn("{}", "WARN ");
    other.debug("{}", "DEBUG ");
    assertThat(text()).contains("WARN").doesNotContain("DEBUG");
  }

  @Test
  void shouldWriteTimesAsAsked() {
    settings.change(Map.of("log_format", "ISO8601"));
    lines.reset();
    own.info("now");
    assertThat(text())
        .matches("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z INFO  Engine: now\n");
    assertThat(settings.current()).containsEntry("log_format", "ISO8601");
    settings.change(Map.of("log_format", "default"));
    lines.reset();
    own.info("now");
    assertThat(text()).matches("[0-9]{2}:[0-9]{2} INFO  Engine: now\n");
  }

  @Test
  void shouldRefuseAFormatWhereNoTimeIsWritten() {
    context.reset();
    log("%msg%n");
    LogSettings without = new LogSettings(context, "");
    assertRefused(
        without, WireStatus.UNIMPLEMENTED, "log_format cannot be changed", "log_format", "ISO8601");
  }

  @Test
  void shouldRefuseWhatItCannotDoByNameAndChangeNothing() {
    refuse(WireStatus.UNIMPLEMENTED, "log file location can not be updated", "log_file", "x");
    refuse(WireStatus.INVALID_ARGUMENT, "expect boolean for 'log_info'", "log_info", "true");
    refuse(WireStatus.INVALID_ARGUMENT, "expect boolean for 'log_error'", "log_error", null);
    refuse(
        WireStatus.INVALID_ARGUMENT,
        "expect int32 for 'log_verbose_level'",
        "log_verbose_level",
        true);
    refuse(
        WireStatus.INVALID_ARGUMENT,
        "expect int32 for 'log_verbose_level'",
        "log_verbose_level",
        4_294_967_295L);
    refuse(WireStatus.INVALID_ARGUMENT, "expect string for 'log_format'", "log_format", 1L);
    refuse(
        WireStatus.INVALID_ARGUMENT,
        "invalid argument for log_format, got: iso",
        "log_format",
        "iso");
    refuse(WireStatus.INVALID_ARGUMENT, "unknown log setting 'log_debug'", "log_debug", true);
  }

  @Test
  void shouldLogAsConfiguredAgainWhenClosed() {
    settings.change(Map.of("log_info", false, "log_format", "ISO8601"));
    settings.close();
    assertThat(shown()).isEqualTo("ERROR WARN INFO ");
    lines.reset();
    own.info("now");
    assertThat(text()).matches("[0-9]{2}:[0-9]{2} INFO  Engine: now\n");
  }

  /** Together with one that would be honoured: then that is not, either. */
  private void refuse(WireStatus status, String text, String name, @Nullable Object value) {
    Map<String, Object> before = settings.current();
    assertRefused(settings, status, text, name, value);
    assertThat(settings.current()).isEqualTo(before);
    assertThat(shown()).isEqualTo("ERROR WARN INFO ");
  }

  private static void assertRefused(
      LogSettings of, WireStatus status, String text, String name, @Nullable Object value) {
    Map<String, @Nullable Object> wanted = new HashMap<>();
    wanted.put("log_warning", false);
    wanted.put(name, value);
    WireException refusal = catchThrowableOfType(WireException.class, () -> of.change(wanted));
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.status()).isEqualTo(status);
    assertThat(refusal.text()).contains(text);
  }

  private String shown() {
    lines.reset();
    own.error("{}", "ERROR ");
    own.warn("{}", "WARN ");
    own.info("{}", "INFO ");
    own.debug("{}", "DEBUG ");
    own.trace("{}", "TRACE ");
    StringBuilder shown = new StringBuilder();
    text().lines().forEach(line -> shown.append(line.substring(line.indexOf(": ") + 2)));
    return shown.toString();
  }

  private String text() {
    return lines.toString(StandardCharsets.UTF_8);
  }

  private void log(String pattern) {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern(pattern);
    encoder.start();
    OutputStreamAppender<ILoggingEvent> appender = new OutputStreamAppender<>();
    appender.setContext(context);
    appender.setEncoder(encoder);
    appender.setOutputStream(lines);
    appender.start();
    root.addAppender(appender);
  }
}
