package dev.roundhouse.node.upstream;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One line of the table.
 *
 * @param key in the file, below the scope's path, with {@code NAME} for a model's name; of
 *     variables alone what follows the prefix
 * @param variable what follows the prefix in a variable; empty when there is none
 * @param ours the key here; empty when there is none
 * @param note what differs; of what is refused what to do instead
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

  /** As it stands in the file. */
  String path() {
    return scope.path + key;
  }

  /** As it stands in the environment; empty when it does not. */
  String variableName() {
    return variable.isEmpty() ? "" : scope.variablePrefix + variable;
  }

  /** Whether a flattened key of the file is this one; the name in it, or empty. */
  Optional<String> matches(String flattened) {
    String pattern = Pattern.quote(path()).replace("NAME", "\\E(.+)\\Q");
    Matcher matcher = Pattern.compile(pattern).matcher(flattened);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    return Optional.of(matcher.groupCount() == 0 ? "" : matcher.group(1));
  }

  /** The settings here that say the same. */
  Map<String, String> convert(String name, String value) {
    String plain =
        name.startsWith("[") && name.endsWith("]") ? name.substring(1, name.length() - 1) : name;
    return conversion.apply(ours.replace(".NAME", "[" + plain + "]"), value.trim());
  }
}
