package dev.roundhouse.node.upstream;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One line of the table.
 *
 * @param key in the file, below the scope's path, with {@code NAME} for a model's name; for
 *     variables alone, what follows the prefix
 * @param variable what follows the prefix in a variable; empty when there is none
 * @param ours the key here; empty when there is none
 * @param note what differs; for a refused key, what to do instead
 */
record Mapping(
    Scope scope, String key, String variable, Conversion conversion, String ours, String note) {

  static Mapping of(Scope scope, String key, Conversion conversion, String ours) {
    return of(scope, key, conversion, ours, "");
  }

  /** Variables are named after their keys. */
  static Mapping of(Scope scope, String key, Conversion conversion, String ours, String note) {
    boolean inFileOnly = scope == Scope.NODE || (scope != Scope.VARIABLE && key.contains("NAME"));
    return new Mapping(
        scope,
        key,
        inFileOnly ? "" : key.toUpperCase(Locale.ROOT).replace('.', '_'),
        conversion,
        ours,
        note);
  }

  static Mapping refused(Scope scope, String key, String instead) {
    return of(scope, key, Conversion.REFUSED, "", instead);
  }

  Mapping withVariable(String other) {
    return new Mapping(scope, key, other, conversion, ours, note);
  }

  /** The key as it is written in the file. */
  String path() {
    return scope.path + key;
  }

  /** The variable as it is written in the environment; empty when there is none. */
  String variableName() {
    return variable.isEmpty() ? "" : scope.variablePrefix + variable;
  }

  /** The model's name in a flattened key of this line, "" for none; empty for other keys. */
  Optional<String> matches(String flattened) {
    String pattern = Pattern.quote(path()).replace("NAME", "\\E(.+)\\Q");
    Matcher matcher = Pattern.compile(pattern).matcher(flattened);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    return Optional.of(matcher.groupCount() == 0 ? "" : matcher.group(1));
  }

  /** The equivalent settings here. */
  Map<String, String> convert(String name, String value) {
    String plain =
        name.startsWith("[") && name.endsWith("]") ? name.substring(1, name.length() - 1) : name;
    return conversion.apply(ours.replace(".NAME", "[" + plain + "]"), value.trim());
  }
}
