package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;

/** A line of metrics with a value: {@code name{label="value",...} 1.0}, and what follows it. */
final class Sample {
  private static final String RENAMED = "exported_";
  private static final Set<String> WORDS = Set.of("NaN", "+Inf", "-Inf", "Inf");

  private Sample() {}

  /** Up to its labels or its value. */
  static String name(String line) throws IOException {
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (i > 0 && (c == '{' || c == ' ')) {
        return line.substring(0, i);
      }
      boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':';
      if (!letter && (i == 0 || c < '0' || c > '9')) {
        break;
      }
    }
    throw broken(line);
  }

  /** A label as it is written, of Latin-1 that carries UTF-8. */
  static String label(String name, String value) {
    String escaped = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    byte[] utf8 = escaped.getBytes(StandardCharsets.UTF_8);
    return name + "=\"" + new String(utf8, StandardCharsets.ISO_8859_1) + '"';
  }

  /**
   * With one label more, before its own. One of its own that has that name is renamed as Prometheus
   * renames it, {@code exported_worker}.
   *
   * @param name the line's
   * @param label as of {@link #label}
   */
  static String labelled(String line, String name, String label) throws IOException {
    int at = name.length();
    int rest = line.charAt(at) == '{' ? end(line, at + 1) + 1 : at;
    checkValue(line, rest);
    if (rest == at) {
      return name + '{' + label + '}' + line.substring(at);
    }
    String added = label.substring(0, label.indexOf('='));
    int own = find(line, at + 1, added);
    if (own == NONE) {
      return name + '{' + label + '}' + line.substring(rest);
    }
    if (own == OTHERS) {
      return name + '{' + label + ',' + line.substring(at + 1);
    }
    String free = RENAMED + added;
    Set<String> taken = names(line, at + 1);
    while (taken.contains(free)) {
      free = RENAMED + free;
    }
    return name
        + '{'
        + label
        + ','
        + line.substring(at + 1, own)
        + free
        + line.substring(own + added.length());
  }

  /** Prometheus drops a whole page for one value that is none. */
  private static void checkValue(String line, int space) throws IOException {
    int from = space + 1;
    int to = line.indexOf(' ', from);
    String value = line.substring(Math.min(from, line.length()), to < 0 ? line.length() : to);
    if (WORDS.contains(value)) {
      return;
    }
    try {
      double unused = Double.parseDouble(value);
    } catch (NumberFormatException e) {
      throw broken(line);
    }
  }

  /** Without its time, which the two formats write in different units. */
  static String withoutTime(String line) throws IOException {
    int at = name(line).length();
    int value = (line.charAt(at) == '{' ? end(line, at + 1) + 1 : at) + 1;
    int time = line.indexOf(' ', value);
    return time < 0 ? line : line.substring(0, time);
  }

  private static final int NONE = -1;
  private static final int OTHERS = -2;

  /** Where a label is; {@link #NONE} when there are no labels, {@link #OTHERS} when it is none. */
  private static int find(String line, int from, String wanted) throws IOException {
    int at = start(line, from);
    if (line.charAt(at) == '}') {
      return NONE;
    }
    while (line.charAt(at) != '}') {
      int equals = equals(line, at);
      if (equals - at == wanted.length() && line.startsWith(wanted, at)) {
        return at;
      }
      at = start(line, closingQuote(line, equals + 1) + 1);
    }
    return OTHERS;
  }

  private static Set<String> names(String line, int from) throws IOException {
    Set<String> names = new HashSet<>();
    int at = start(line, from);
    while (line.charAt(at) != '}') {
      int equals = equals(line, at);
      names.add(line.substring(at, equals));
      at = start(line, closingQuote(line, equals + 1) + 1);
    }
    return names;
  }

  /** The brace that ends the labels. */
  private static int end(String line, int from) throws IOException {
    int at = start(line, from);
    while (line.charAt(at) != '}') {
      at = start(line, closingQuote(line, equals(line, at) + 1) + 1);
    }
    return at;
  }

  /** The next label's first letter, or the brace. */
  private static int start(String line, int from) throws IOException {
    int at = from;
    while (at < line.length() && (line.charAt(at) == ',' || line.charAt(at) == ' ')) {
      at++;
    }
    if (at >= line.length()) {
      throw broken(line);
    }
    return at;
  }

  private static int equals(String line, int from) throws IOException {
    int at = line.indexOf('=', from);
    if (at < 0 || at + 1 >= line.length() || line.charAt(at + 1) != '"') {
      throw broken(line);
    }
    return at;
  }

  private static int closingQuote(String line, int quote) throws IOException {
    for (int i = quote + 1; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '\\') {
        i++;
      } else if (c == '"') {
        return i;
      }
    }
    throw broken(line);
  }

  private static IOException broken(String line) {
    return new IOException(
        "it has a line that is none of metrics: " + line.substring(0, Math.min(line.length(), 80)));
  }
}
