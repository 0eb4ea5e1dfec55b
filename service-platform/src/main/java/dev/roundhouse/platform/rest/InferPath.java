package dev.roundhouse.platform.rest;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which model a request for inference is for.
 *
 * @param version empty when the path names none
 */
public record InferPath(String name, String version) {
  /** Parts of a path. */
  private static final int WITH_NAME = 4;

  private static final int WITH_VERSION = 6;

  /** Null for a request that is for something else. */
  public static @Nullable InferPath of(String method, String target) {
    if (!method.equals("POST")) {
      return null;
    }
    int query = target.indexOf('?');
    String[] written = (query < 0 ? target : target.substring(0, query)).split("/", -1);
    boolean plain = written.length > 1 && written[0].isEmpty();
    for (int i = 1; i < written.length; i++) {
      plain &= isPlain(written[i]);
    }
    if (plain) {
      return of(Arrays.asList(written).subList(1, written.length));
    }
    RequestPath path = RequestPath.of(target);
    return path == null ? null : of(path.parts());
  }

  private static @Nullable InferPath of(List<String> path) {
    boolean ofVersion = path.size() == WITH_VERSION && path.get(3).equals("versions");
    if (!(path.size() == WITH_NAME || ofVersion)
        || !path.get(0).equals("v2")
        || !path.get(1).equals("models")
        || !path.getLast().equals("infer")) {
      return null;
    }
    String version = ofVersion ? path.get(4) : "";
    boolean named = !path.get(2).isEmpty() && !(ofVersion && version.isEmpty());
    return named ? new InferPath(path.get(2), version) : null;
  }

  /** True of a part of a path that can only mean itself. */
  private static boolean isPlain(String part) {
    boolean more = false;
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
