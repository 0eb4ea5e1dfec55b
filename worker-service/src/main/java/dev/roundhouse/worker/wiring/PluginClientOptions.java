package dev.roundhouse.worker.wiring;

import dev.roundhouse.pjrt.ClientOptions;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Gives options written as text their known type, else the type they look like; a plugin aborts on
 * a wrong type.
 */
final class PluginClientOptions {
  private static final Pattern INTEGER = Pattern.compile("-?\\d{1,18}");
  private static final Pattern DECIMAL = Pattern.compile("-?\\d+\\.\\d+");
  private static final Pattern BOOLEAN = Pattern.compile("true|false");
  private static final Pattern LIST = Pattern.compile("\\[\\s*\\d{1,18}\\s*(,\\s*\\d{1,18}\\s*)*]");

  /** Options of the CUDA plugin whose values may look like another type. */
  private static final Set<String> FLOATS = Set.of("memory_fraction");

  private static final Set<String> LISTS = Set.of("visible_devices");
  private static final Set<String> TEXTS = Set.of("allocator", "platform_name");

  private PluginClientOptions() {}

  static ClientOptions parse(Map<String, String> options) {
    ClientOptions parsed = ClientOptions.NONE;
    for (Map.Entry<String, String> option : new TreeMap<>(options).entrySet()) {
      parsed = add(parsed, option.getKey(), option.getValue());
    }
    return parsed;
  }

  private static ClientOptions add(ClientOptions options, String name, String value) {
    if (TEXTS.contains(name)) {
      return options.with(name, value);
    }
    if (INTEGER.matcher(value).matches() && FLOATS.contains(name)) {
      return options.with(name, Float.parseFloat(value));
    }
    if (INTEGER.matcher(value).matches() && LISTS.contains(name)) {
      return options.with(name, new long[] {Long.parseLong(value)});
    }
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
      String[] elements = value.substring(1, value.length() - 1).strip().split("\\s*,\\s*");
      return options.with(name, Arrays.stream(elements).mapToLong(Long::parseLong).toArray());
    }
    return options.with(name, value);
  }
}
