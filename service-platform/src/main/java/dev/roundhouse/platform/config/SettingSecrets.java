package dev.roundhouse.platform.config;

import java.util.regex.Pattern;

/** Takes what nobody should read out of settings that are shown. */
final class SettingSecrets {
  static final String MASK = "******";

  private static final String WORDS =
      "password|passphrase|secret|token|credentials?|api-?key|private-?key|authorization";

  /** A key, or the name of a variable, that ends in one of the words. */
  private static final Pattern NAME =
      Pattern.compile("(?i)(.*[._-])?(" + WORDS.replace("-?", "[_-]?") + ")");

  /** Arguments that set such a key, in a value that has arguments. */
  private static final Pattern ARGUMENT =
      Pattern.compile("(?i)([\\w.\\-\\[\\]]*(?:" + WORDS + ")=)[^\\s,]+");

  private static final Pattern USER = Pattern.compile("(\\w+://)[^/@\\s]+@");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^:}]+)");

  private SettingSecrets() {}

  static boolean isSecret(String name) {
    return NAME.matcher(name).matches();
  }

  /** True when a placeholder in it stands for a secret, and must not be resolved. */
  static boolean refersToSecret(String raw) {
    return PLACEHOLDER.matcher(raw).results().anyMatch(each -> isSecret(each.group(1)));
  }

  static String masked(String key, String value) {
    if (isSecret(key)) {
      return MASK;
    }
    String arguments = ARGUMENT.matcher(value).replaceAll("$1" + MASK);
    return USER.matcher(arguments).replaceAll("$1" + MASK + "@");
  }
}
