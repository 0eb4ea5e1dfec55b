package dev.roundhouse.platform.rest;

import org.jspecify.annotations.Nullable;

/**
 * Which model a request for inference is for.
 *
 * @param version empty when the path names none
 * @param operation what is asked of it
 */
public record InferPath(String name, String version, Operation operation) {
  /** Parts of a path, behind its first slash. */
  private static final int WITH_NAME = 4;

  private static final int WITH_VERSION = 6;

  /** The last part of a path. */
  public enum Operation {
    INFER("infer"),
    GENERATE("generate"),
    GENERATE_STREAM("generate_stream");

    private final String part;

    Operation(String part) {
      this.part = part;
    }

    static @Nullable Operation of(String part) {
      for (Operation each : values()) {
        if (each.part.equals(part)) {
          return each;
        }
      }
      return null;
    }
  }

  /** Null for any other request. */
  public static @Nullable InferPath of(String method, String target) {
    if (!method.equals("POST")) {
      return null;
    }
    int query = target.indexOf('?');
    String[] written = (query < 0 ? target : target.substring(0, query)).split("/", -1);
    InferPath named = written[0].isEmpty() ? of(written, 1) : null;
    if (named != null && isPlain(named.name) && isPlain(named.version)) {
      return named;
    }
    DecodedPath path = DecodedPath.of(target);
    return path == null ? null : of(path.parts().toArray(String[]::new), 0);
  }

  /** True when a decoded path ends as those of inference do. */
  static boolean endsAsOne(String path) {
    return Operation.of(path.substring(path.lastIndexOf('/') + 1)) != null;
  }

  /**
   * @param from where the path begins in {@code parts}
   */
  private static @Nullable InferPath of(String[] parts, int from) {
    int length = parts.length - from;
    boolean ofVersion = length == WITH_VERSION && parts[from + 3].equals("versions");
    if (!(length == WITH_NAME || ofVersion)
        || !parts[from].equals("v2")
        || !parts[from + 1].equals("models")) {
      return null;
    }
    Operation operation = Operation.of(parts[parts.length - 1]);
    String name = parts[from + 2];
    String version = ofVersion ? parts[from + 4] : "";
    return operation == null || name.isEmpty() || (ofVersion && version.isEmpty())
        ? null
        : new InferPath(name, version, operation);
  }

  /** True when a part of a path stands for itself: nothing to decode, and not only dots. */
  private static boolean isPlain(String part) {
    boolean more = part.isEmpty();
    for (int i = 0; i < part.length(); i++) {
      char c = part.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!letter && c != '-' && c != '_' && c != '.' && c != '~') {
        return false;
      }
      more |= c != '.';
    }
    return more;
  }
}
