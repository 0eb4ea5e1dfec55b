package dev.roundhouse.bundle.manifest;

import java.util.regex.Pattern;

/** Names of files that cannot lead out of a bundle: relative, plain, no {@code .} or {@code ..}. */
final class FileNames {
  private static final Pattern INSIDE =
      Pattern.compile(
          "(?!\\.{1,2}(/|$))[^/\\\\\\x00-\\x1f]+(/(?!\\.{1,2}(/|$))[^/\\\\\\x00-\\x1f]+)*");

  private FileNames() {}

  static boolean isInside(String name) {
    return name.length() <= 255 && INSIDE.matcher(name).matches();
  }
}
