package dev.roundhouse.node;

import dev.roundhouse.platform.config.StartRefusedException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.springframework.boot.env.OriginTrackedMapPropertySource;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * The {@code management.server.address} of a document or variable that the other applications read
 * too. The supervisor's only port is for operators and listens there. The key is hidden from
 * Spring, which refuses it without a separate management port.
 *
 * @param text empty for none
 */
public record ManagementAddress(String text) {
  private static final String KEY = "management.server.address";

  /** Removes it from the sources; the first that has it decides. */
  static ManagementAddress takenFrom(MutablePropertySources sources) {
    String found = "";
    for (PropertySource<?> source : sources) {
      if (!(source instanceof EnumerablePropertySource<?> named)) {
        continue;
      }
      for (String name : named.getPropertyNames()) {
        if (!isKey(name)) {
          continue;
        }
        if (source instanceof CommandLinePropertySource<?>) {
          throw new StartRefusedException(
              "--" + KEY + " is given to the supervisor, whose only port is its own.",
              "Set roundhouse.node.ports.address, or put the key into a document for all.");
        }
        Object value = source.getProperty(name);
        if (found.isEmpty() && value != null) {
          found = value.toString();
        }
        sources.replace(source.getName(), without(name, named));
      }
    }
    return new ManagementAddress(found);
  }

  private static boolean isKey(String name) {
    return name.replace('_', '.').toLowerCase(Locale.ROOT).equals(KEY);
  }

  private static PropertySource<?> without(String key, EnumerablePropertySource<?> source) {
    if (!(source.getSource() instanceof Map<?, ?> values)) {
      throw new StartRefusedException(
          KEY + " is set in '" + source.getName() + "', where the supervisor cannot pass it by.",
          "Set it in application.yaml or in the variable MANAGEMENT_SERVER_ADDRESS.");
    }
    Map<String, Object> others = new LinkedHashMap<>();
    values.forEach((name, value) -> others.put(name.toString(), value));
    others.remove(key);
    return switch (source) {
      case SystemEnvironmentPropertySource variables ->
          new SystemEnvironmentPropertySource(variables.getName(), others);
      case OriginTrackedMapPropertySource document ->
          new OriginTrackedMapPropertySource(document.getName(), others, true);
      default -> new MapPropertySource(source.getName(), others);
    };
  }
}
