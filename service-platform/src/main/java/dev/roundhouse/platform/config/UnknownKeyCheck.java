package dev.roundhouse.platform.config;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.origin.Origin;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Refuses keys under {@code roundhouse} that no record reads: a misspelt key is a setting that is
 * silently not made. Keys of the other applications are theirs: one document may configure all of
 * them. Of what is written in files and on the command line, near misses of {@code roundhouse} and
 * of Spring's keys are refused too.
 *
 * <p>Variables of the environment are only warned about. Kubernetes puts {@code
 * ROUNDHOUSE_WORKER_PORT} and the like there for a service of that name, and a worker must start
 * beside it.
 */
public final class UnknownKeyCheck {
  private static final Logger log = LoggerFactory.getLogger(UnknownKeyCheck.class);
  private static final ConfigurationPropertyName ROOT = ConfigurationPropertyName.of("roundhouse");

  /** Whose keys may stand beside each other. */
  private static final List<ConfigurationPropertyName> APPLICATIONS =
      Stream.of("worker", "gateway", "node").map(ROOT::append).toList();

  /** System properties that the device binding reads by itself. */
  private static final ConfigurationPropertyName BINDING = ROOT.append("pjrt");

  private final KnownKeys known;
  private final ConfigurationPropertyName own;
  private final String variablePrefix;
  private final Names names;
  private final SpringKeys spring = new SpringKeys();

  /** What an application refuses besides, by how its keys are written. */
  public interface Names {
    /** Refuses nothing. */
    Names ANY =
        new Names() {
          @Override
          public void checkKeys(List<String> keys) {}

          @Override
          public void checkVariables(List<String> variables) {}
        };

    /**
     * @param keys as they are written, lists and documents flattened
     * @throws StartRefusedException naming the key and the way to write it
     */
    void checkKeys(List<String> keys);

    /**
     * @param variables of the environment
     * @throws StartRefusedException naming the variable and the way to write it
     */
    void checkVariables(List<String> variables);
  }

  /**
   * @param prefix of an application's keys
   * @param names what it refuses besides
   */
  public UnknownKeyCheck(String prefix, Class<? extends Record> settings, Names names) {
    known = new KnownKeys(prefix, settings);
    own = ConfigurationPropertyName.of(prefix);
    variablePrefix = prefix.toUpperCase(Locale.ROOT).replace('.', '_') + "_";
    this.names = names;
  }

  /**
   * @throws StartRefusedException naming the key, where it comes from and the nearest known key
   */
  public void check(Environment environment) {
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource variables) {
        names.checkVariables(List.of(variables.getPropertyNames()));
        warnOf(variables);
      } else if (source instanceof IterableConfigurationPropertySource keys) {
        if (keys.getUnderlyingSource() instanceof EnumerablePropertySource<?> written) {
          names.checkKeys(List.of(written.getPropertyNames()));
        }
        keys.stream()
            .filter(this::isUnknown)
            .findFirst()
            .ifPresent(key -> refuse(key, keys, known.nearest(key.toString())));
        if (isWritten(keys.getUnderlyingSource())) {
          keys.forEach(key -> spring.meant(dashed(key)).ifPresent(near -> refuse(key, keys, near)));
        }
      }
    }
  }

  /** False of what comes with the program, and of what the system and Java say for everybody. */
  private static boolean isWritten(@Nullable Object source) {
    return source instanceof PropertySource<?> written
        && !written.getName().contains("class path resource")
        && !written.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
  }

  /** Without the indexes of a list, or the names that stand in brackets. */
  private static String dashed(ConfigurationPropertyName key) {
    String text = key.toString();
    int bracket = text.indexOf('[');
    return bracket < 0 ? text : text.substring(0, bracket);
  }

  private boolean isUnknown(ConfigurationPropertyName key) {
    return ROOT.isAncestorOf(key)
        && !BINDING.isAncestorOf(key)
        && !known.contains(key)
        && !isOfAnother(key);
  }

  private boolean isOfAnother(ConfigurationPropertyName key) {
    return APPLICATIONS.stream()
        .anyMatch(application -> !application.equals(own) && application.isAncestorOf(key));
  }

  private void refuse(
      ConfigurationPropertyName key, ConfigurationPropertySource source, String nearest) {
    throw new StartRefusedException(
        "Unknown configuration key '" + key + "' (" + origin(key, source) + ").",
        "Did you mean '"
            + nearest
            + "'? Correct the key or remove it; docs/"
            + page()
            + " lists every key.");
  }

  private String page() {
    String application = own.getLastElement(ConfigurationPropertyName.Form.UNIFORM);
    return application.equals("worker")
        ? "configuration.md"
        : "configuration-" + application + ".md";
  }

  private void warnOf(SystemEnvironmentPropertySource variables) {
    for (String variable : variables.getPropertyNames()) {
      if (variable.startsWith(variablePrefix) && !known.containsVariable(variable)) {
        log.warn(
            "environment variable {} is not a setting and is ignored; the nearest is {}",
            variable,
            nearestVariable(variable));
      }
    }
  }

  private String nearestVariable(String variable) {
    String key = variable.toLowerCase(Locale.ROOT).replace('_', '.');
    return known.nearest(key).toUpperCase(Locale.ROOT).replace("-", "").replace('.', '_');
  }

  private static String origin(ConfigurationPropertyName key, ConfigurationPropertySource source) {
    Origin origin = Origin.from(source.getConfigurationProperty(key));
    if (origin != null) {
      return origin.toString();
    }
    return source.getUnderlyingSource() instanceof PropertySource<?> underlying
        ? underlying.getName()
        : "unknown origin";
  }
}
