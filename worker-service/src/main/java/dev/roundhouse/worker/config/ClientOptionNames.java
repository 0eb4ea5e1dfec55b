package dev.roundhouse.worker.config;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Undoes what binding does to the names of a plugin's options: the elements of a list come one by
 * one, as {@code visible_devices.0}, and the underscores of an environment variable come as dots.
 */
final class ClientOptionNames {
  private static final Pattern ELEMENT = Pattern.compile("(.+)\\.(\\d{1,9})");

  private ClientOptionNames() {}

  /** Options by the names that the plugin knows, lists written {@code [0,1]}. */
  static Map<String, String> joined(Map<String, String> options) {
    Map<String, String> joined = new TreeMap<>();
    Map<String, TreeMap<Integer, String>> lists = new TreeMap<>();
    options.forEach(
        (name, value) -> {
          Matcher element = ELEMENT.matcher(name);
          if (element.matches()) {
            lists
                .computeIfAbsent(plain(element.group(1)), unused -> new TreeMap<>())
                .put(Integer.valueOf(element.group(2)), value);
          } else {
            joined.put(plain(name), value);
          }
        });
    lists.forEach(
        (name, elements) ->
            joined.put(
                name, elements.values().stream().collect(Collectors.joining(",", "[", "]"))));
    return Map.copyOf(joined);
  }

  private static String plain(String name) {
    return name.replace('.', '_');
  }
}
