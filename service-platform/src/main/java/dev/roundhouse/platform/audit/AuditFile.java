package dev.roundhouse.platform.audit;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.encoder.EncoderBase;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.util.FileSize;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.event.KeyValuePair;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes what {@link Audit} does to a file as well, a line of JSON each, and begins another when it
 * is full. Whatever callers sent is in ASCII, with everything else escaped.
 */
public final class AuditFile implements AutoCloseable {
  /** Fields of a line after its time, by the names that the log has. */
  private static final Map<String, String> FIELDS = new LinkedHashMap<>();

  static {
    FIELDS.put(Audit.ADDRESS, "address");
    FIELDS.put(Audit.IDENTITY, "identity");
    FIELDS.put(Audit.ROUTE, "route");
    FIELDS.put(Audit.WHAT, "what");
    FIELDS.put(Audit.BEFORE, "before");
    FIELDS.put(Audit.AFTER, "after");
    FIELDS.put(Audit.OUTCOME, "outcome");
  }

  private final @Nullable RollingFileAppender<ILoggingEvent> appender;

  /**
   * @param key of the settings
   * @throws StartRefusedException when the file cannot be written
   */
  public AuditFile(AuditProperties settings, String key) {
    appender = settings.file().isEmpty() ? null : begun(settings, key);
  }

  private static RollingFileAppender<ILoggingEvent> begun(AuditProperties settings, String key) {
    Path file = Path.of(settings.file()).toAbsolutePath();
    try {
      Path folder = file.getParent();
      if (folder != null) {
        Files.createDirectories(folder);
      }
      if (!Files.exists(file)) {
        Files.createFile(file);
      }
    } catch (IOException e) {
      throw refused(settings, key, e);
    }
    if (!Files.isRegularFile(file) || !Files.isWritable(file)) {
      throw refused(settings, key, null);
    }
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    RollingFileAppender<ILoggingEvent> made = new RollingFileAppender<>();
    made.setName("roundhouse-audit");
    made.setContext(context);
    made.setFile(file.toString());
    FixedWindowRollingPolicy rolling = new FixedWindowRollingPolicy();
    rolling.setContext(context);
    rolling.setParent(made);
    rolling.setFileNamePattern(file.toString().replace("%", "%%") + ".%i");
    rolling.setMinIndex(1);
    rolling.setMaxIndex(settings.maxFiles());
    rolling.start();
    SizeBasedTriggeringPolicy<ILoggingEvent> full = new SizeBasedTriggeringPolicy<>();
    full.setContext(context);
    full.setMaxFileSize(new FileSize(settings.maxSize().toBytes()));
    full.setCheckIncrement(ch.qos.logback.core.util.Duration.buildByMilliseconds(0));
    full.start();
    Lines lines = new Lines();
    lines.setContext(context);
    lines.start();
    made.setEncoder(lines);
    made.setRollingPolicy(rolling);
    made.setTriggeringPolicy(full);
    made.start();
    logger().addAppender(made);
    return made;
  }

  private static StartRefusedException refused(
      AuditProperties settings, String key, @Nullable IOException cause) {
    String description =
        "%s.file is '%s', which cannot be written%s."
            .formatted(key, settings.file(), cause == null ? "" : ": " + cause.getMessage());
    String action = "Name a file in a folder that this process may write to.";
    return cause == null
        ? new StartRefusedException(description, action)
        : new StartRefusedException(description, action, cause);
  }

  private static Logger logger() {
    return (Logger) LoggerFactory.getLogger(Audit.LOGGER);
  }

  @Override
  public void close() {
    if (appender != null) {
      logger().detachAppender(appender);
      appender.stop();
    }
  }

  /** Makes lines of events. */
  private static final class Lines extends EncoderBase<ILoggingEvent> {
    private static final JsonMapper JSON =
        JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    @Override
    public byte[] headerBytes() {
      return new byte[0];
    }

    @Override
    public byte[] encode(ILoggingEvent event) {
      Map<String, String> line = new LinkedHashMap<>();
      line.put("at", event.getInstant().toString());
      List<KeyValuePair> pairs = event.getKeyValuePairs();
      FIELDS.forEach(
          (name, field) -> {
            for (KeyValuePair pair : pairs == null ? List.<KeyValuePair>of() : pairs) {
              if (pair.key.equals(name)) {
                line.put(field, String.valueOf(pair.value));
              }
            }
          });
      return (JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] footerBytes() {
      return new byte[0];
    }
  }
}
