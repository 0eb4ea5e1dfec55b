package dev.roundhouse.platform.config;

import dev.roundhouse.platform.config.KnownKeys.Known;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * The settings of an application that are not at their defaults, as they are in effect: of several
 * places that set one, the one that wins. Read from where they were bound from, because a bound
 * record no longer knows where a value came from.
 */
public final class EffectiveSettings {
  private static final Pattern REFERENCE = Pattern.compile("\\$\\{([^:}]+)");
  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z0-9_-]+");

  private final KnownKeys keys;
  private final ConfigurableEnvironment environment;

  /** What a key is set to, and where. */
  private record Found(String raw, SettingOrigin origin) {}

  /**
   * @param prefix of the application's keys
   * @param environment whose sources are attached, as Boot's are
   */
  public EffectiveSettings(
      String prefix, Class<? extends Record> settings, ConfigurableEnvironment environment) {
    keys = new KnownKeys(prefix, settings);
    this.environment = environment;
  }

  /** By key. */
  public List<Setting> read() {
    List<Setting> settings = new ArrayList<>();
    for (Known known : keys.known()) {
      names(known)
          .forEach(
              (key, name) -> {
                Found found = find(name, known.isList());
                if (found != null) {
                  Setting setting = setting(key, known, found);
                  if (setting != null) {
                    settings.add(setting);
                  }
                }
              });
    }
    settings.sort(Comparator.comparing(Setting::key));
    return settings;
  }

  /** Null when it is as by default. */
  private @Nullable Setting setting(String key, Known known, Found found) {
    String value = environment.resolvePlaceholders(found.raw);
    if (isSame(value, known)) {
      return null;
    }
    String shown = SettingSecrets.refersToSecret(found.raw) ? found.raw : value;
    SettingOrigin origin = origin(found);
    return new Setting(
        key, SettingSecrets.masked(key, shown), known.defaultValue(), origin.from(), origin.at());
  }

  /** Of a value that refers to another key, as built-in ones do, where that one is set. */
  private SettingOrigin origin(Found found) {
    Matcher reference = REFERENCE.matcher(found.raw);
    if (reference.find()) {
      ConfigurationPropertyName name = ConfigurationPropertyName.adapt(reference.group(1), '.');
      Found referred = name.isEmpty() ? null : find(name, false);
      if (referred != null) {
        return referred.origin;
      }
    }
    return found.origin;
  }

  /** Spellings of one value are one value: {@code 60s} is {@code 1m}. */
  private static boolean isSame(String value, Known known) {
    String usual = Objects.requireNonNullElse(known.defaultValue(), "");
    if (value.equals(usual)) {
      return true;
    }
    if (!(known.type() instanceof Class<?> type) || value.isEmpty() || usual.isEmpty()) {
      return false;
    }
    try {
      ApplicationConversionService conversion =
          (ApplicationConversionService) ApplicationConversionService.getSharedInstance();
      return Objects.equals(conversion.convert(value, type), conversion.convert(usual, type));
    } catch (ConversionException e) {
      return false;
    }
  }

  /** The keys that a pattern stands for, as they are shown, and how they are looked up. */
  private Map<String, ConfigurationPropertyName> names(Known known) {
    Map<String, ConfigurationPropertyName> names = new LinkedHashMap<>();
    if (!known.pattern().contains(KnownKeys.ANY)) {
      String key = String.join(".", known.pattern());
      names.put(key, ConfigurationPropertyName.of(key));
      return names;
    }
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source instanceof IterableConfigurationPropertySource written) {
        written.stream()
            .filter(known::matches)
            .map(key -> key.chop(known.pattern().size()))
            .forEach(key -> names.putIfAbsent(shown(known.pattern(), key), key));
      }
    }
    return names;
  }

  private static String shown(List<String> pattern, ConfigurationPropertyName key) {
    StringBuilder shown = new StringBuilder();
    for (int i = 0; i < pattern.size(); i++) {
      String element = pattern.get(i);
      if (element.equals(KnownKeys.ANY)) {
        element = key.getElement(i, Form.ORIGINAL);
        if (!PLAIN_NAME.matcher(element).matches()) {
          shown.append('[').append(element).append(']');
          continue;
        }
      }
      shown.append(i == 0 ? "" : ".").append(element);
    }
    return shown.toString();
  }

  private @Nullable Found find(ConfigurationPropertyName name, boolean isList) {
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      ConfigurationProperty whole = source.getConfigurationProperty(name);
      if (whole != null) {
        return new Found(String.valueOf(whole.getValue()), SettingOrigin.of(whole, source));
      }
      Found elements = isList ? elements(name, source) : null;
      if (elements != null) {
        return elements;
      }
    }
    return null;
  }

  private static @Nullable Found elements(
      ConfigurationPropertyName name, ConfigurationPropertySource source) {
    List<String> values = new ArrayList<>();
    SettingOrigin origin = null;
    while (true) {
      ConfigurationProperty element =
          source.getConfigurationProperty(name.append("[" + values.size() + "]"));
      if (element == null) {
        return origin == null ? null : new Found(String.join(",", values), origin);
      }
      origin = origin == null ? SettingOrigin.of(element, source) : origin;
      values.add(String.valueOf(element.getValue()));
    }
  }
}
