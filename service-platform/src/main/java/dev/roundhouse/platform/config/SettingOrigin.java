package dev.roundhouse.platform.config;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.origin.Origin;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.Resource;

/**
 * Where a setting comes from.
 *
 * @param from the kind of place
 * @param at the place; null when the kind says it all
 */
record SettingOrigin(String from, @Nullable String at) {
  private static final String JSON = "spring.application.json";

  static SettingOrigin of(ConfigurationProperty property, ConfigurationPropertySource source) {
    Origin origin = property.getOrigin();
    String name = null;
    if (origin instanceof PropertySourceOrigin named) {
      name = named.getPropertyName();
      origin = named.getOrigin() == null ? named : named.getOrigin();
    }
    if (origin instanceof TextResourceOrigin text) {
      return new SettingOrigin(isBuiltIn(text.getResource()) ? "built in" : "file", text(text));
    }
    Object underlying = source.getUnderlyingSource();
    return switch (underlying) {
      case CommandLinePropertySource<?> _ -> new SettingOrigin("command line", null);
      case SystemEnvironmentPropertySource _ -> new SettingOrigin("environment", name);
      case PropertySource<?> named
          when named.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME) ->
          new SettingOrigin("system property", name);
      case PropertySource<?> named when named.getName().equals(JSON) ->
          new SettingOrigin("environment", "SPRING_APPLICATION_JSON");
      case PropertySource<?> named -> new SettingOrigin("other", named.getName());
      case null, default -> new SettingOrigin("other", origin == null ? null : origin.toString());
    };
  }

  /** Comes with the program, which reads sizes that the launcher has found from there. */
  private static boolean isBuiltIn(@Nullable Resource resource) {
    return resource != null && resource.getDescription().contains("class path resource");
  }

  private static String text(TextResourceOrigin origin) {
    Resource resource = origin.getResource();
    String name = resource == null ? "unknown" : resource.getDescription();
    TextResourceOrigin.Location location = origin.getLocation();
    return location == null ? name : name + " line " + (location.getLine() + 1);
  }
}
