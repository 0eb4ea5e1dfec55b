package dev.roundhouse.node.wiring;

import dev.roundhouse.node.plan.Drain;
import dev.roundhouse.node.plan.PassedOn;
import dev.roundhouse.node.upstream.UpstreamSettings;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.logging.StructuredLogs;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;

/**
 * Collects the settings here that are for the other applications. They read files and variables
 * themselves, but see neither this command line nor upstream's files and variables.
 */
final class Passing {
  private static final String WORKER = "roundhouse.worker.";
  private static final String GATEWAY = "roundhouse.gateway.";

  private Passing() {}

  static PassedOn of(ConfigurableEnvironment environment) {
    Binder binder = Binder.get(environment);
    return new PassedOn(
        notSeen(environment, WORKER),
        notSeen(environment, GATEWAY),
        structuredLogs(environment),
        Stream.of(PassedOn.PLATFORM, PassedOn.CPU_THREADS)
            .filter(environment::containsProperty)
            .collect(Collectors.toSet()),
        drain(binder, WORKER + "shutdown.drain", WORKER + "server.lame-duck"),
        drain(binder, GATEWAY + "shutdown.drain", GATEWAY + "shutdown.lame-duck"));
  }

  static boolean structuredLogs(ConfigurableEnvironment environment) {
    String format = StructuredLogs.format(environment);
    if (!format.isEmpty() && !format.equals(StructuredLogs.ECS)) {
      throw new StartRefusedException(
          "%s is '%s'; the supervisor puts the lines of all its processes together in '%s' only."
              .formatted(StructuredLogs.FORMAT, format, StructuredLogs.ECS),
          "Set it to '%s', or leave it out for plain lines.".formatted(StructuredLogs.ECS));
    }
    return !format.isEmpty();
  }

  private static Drain drain(Binder binder, String drain, String lameDuck) {
    return new Drain(
        binder.bind(drain, Duration.class).map(Optional::of).orElse(Optional.empty()),
        binder.bind(lameDuck, Duration.class).orElse(Duration.ZERO));
  }

  private static Map<String, String> notSeen(ConfigurableEnvironment environment, String prefix) {
    Map<String, String> found = new LinkedHashMap<>();
    for (PropertySource<?> source : environment.getPropertySources()) {
      boolean upstream = source.getName().equals(UpstreamSettings.SOURCE);
      if (upstream || source instanceof CommandLinePropertySource<?>) {
        for (String name : ((EnumerablePropertySource<?>) source).getPropertyNames()) {
          Object value = source.getProperty(name);
          if (name.startsWith(prefix)
              && value != null
              && !(upstream && isSaidElsewhere(environment, name))) {
            found.put(name, value.toString());
          }
        }
      }
    }
    return found;
  }

  /** Then the application hears it from there, or from its command line. */
  private static boolean isSaidElsewhere(ConfigurableEnvironment environment, String key) {
    ConfigurationPropertyName name = ConfigurationPropertyName.of(key);
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      boolean upstream =
          source.getUnderlyingSource() instanceof PropertySource<?> underlying
              && underlying.getName().equals(UpstreamSettings.SOURCE);
      if (!upstream
          && (source.getConfigurationProperty(name) != null
              || source.containsDescendantOf(name) == ConfigurationPropertyState.PRESENT)) {
        return true;
      }
    }
    return false;
  }
}
