package dev.roundhouse.worker.wiring;

import dev.roundhouse.pjrt.ClientOptions;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Gives options written as text the type they look like; a plugin aborts on one of another type.
 */
final class PluginClientOptions {
  private static final Pattern INTEGER = Pattern.compile("-?\\d{1,18}");
  private static final Pattern DECIMAL = Pattern.compile("-?\\d+\\.\\d+");
  private static final Pattern BOOLEAN = Pattern.compile("true|false");
  private static final Pattern LIST = Pattern.compile("\\[\\d{1,18}(,\\d{1,18})*]");

  private PluginClientOptions() {}

  static ClientOptions parse(Map<String, String> options) {
    ClientOptions parsed = ClientOptions.NONE;
    for (Map.Entry<String, String> option : new TreeMap<>(options).entrySet()) {
      parsed = add(parsed, option.getKey(), option.getValue());
    }
    return parsed;
  }

  private static ClientOptions add(ClientOptions options, String name, String value) {
    if (BOOLEAN.matcher(value).matches()) {
      return options.with(name, Boolean.parseBoolean(value));
    }
    if (INTEGER.matcher(value).matches()) {
      return options.with(name, Long.parseLong(value));
    }
    if (DECIMAL.matcher(value).matches()) {
      return options.with(name, Float.parseFloat(value));
    }
    if (LIST.matcher(value).matches()) {
      String[] elements = value.substring(1, value.length() - 1).split(",");
      return options.with(name, Arrays.stream(elements).mapToLong(Long::parseLong).toArray());
    }
    return options.with(name, value);
  }
}
