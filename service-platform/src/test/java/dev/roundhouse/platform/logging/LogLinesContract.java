package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.config.ConfigDataEnvironmentPostProcessor;
import org.springframework.core.env.Environment;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;

/** How an application logs: every one has a test that extends this. */
public abstract class LogLinesContract {
  @TempDir Path folder;

  @Test
  protected void shouldBeginWithTimeLevelAndPlaceAndEndWithTheRequest() {
    String pattern = property(environment(), "logging.pattern.console");
    assertThat(line(pattern, Map.of("request_id", "r17")))
        .matches(
            "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}(Z|[+-]\\d{2}:\\d{2}) INFO  Engine: text request_id=r17\n");
    assertThat(line(pattern, Map.of("request_id", "r17", "trace.id", "0af7")))
        .endsWith(" INFO  Engine: text request_id=r17 trace.id=0af7\n");
    assertThat(line(pattern, Map.of())).endsWith(" INFO  Engine: text\n");
  }

  @Test
  protected void shouldLogWhatIsOurOwnAndElseWarnings() {
    Environment settings = environment();
    assertThat(property(settings, "logging.level.root")).isEqualTo("warn");
    assertThat(property(settings, "logging.level.org.springframework")).isEqualTo("error");
    assertThat(property(settings, "logging.level.dev.roundhouse")).isEqualTo("info");
  }

  @Test
  protected void shouldLogAsTheOperatorSays() throws IOException {
    Files.writeString(
        folder.resolve("application.yaml"),
        "logging: {pattern: {console: 'file %m'}, level: {dev.roundhouse: debug}}\n");
    String file = "--spring.config.additional-location=file:" + folder + "/";
    assertThat(property(environment(file), "logging.pattern.console")).isEqualTo("file %m");
    assertThat(property(environment(file), "logging.level.dev.roundhouse")).isEqualTo("debug");
    String argument = "--logging.pattern.console=argument %m";
    assertThat(property(environment(file, argument), "logging.pattern.console"))
        .isEqualTo("argument %m");
  }

  /** What the application is told, by its own file and these arguments. */
  private static Environment environment(String... arguments) {
    StandardEnvironment environment = new StandardEnvironment();
    environment.getPropertySources().addFirst(new SimpleCommandLinePropertySource(arguments));
    ConfigDataEnvironmentPostProcessor.applyTo(environment);
    return environment;
  }

  private static String property(Environment of, String key) {
    return Objects.requireNonNull(of.getProperty(key), key);
  }

  private static String line(String pattern, Map<String, String> context) {
    LoggerContext loggers = new LoggerContext();
    PatternLayout layout = new PatternLayout();
    layout.setContext(loggers);
    layout.setPattern(pattern);
    layout.start();
    LoggingEvent event =
        new LoggingEvent(
            "", loggers.getLogger("dev.roundhouse.Engine"), Level.INFO, "text", null, null);
    event.setMDCPropertyMap(context);
    return layout.doLayout(event);
  }
}
