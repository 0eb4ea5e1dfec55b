package dev.roundhouse.platform.rest;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which model a request for inference by v1 is for.
 *
 * @param version empty when the path names none
 * @param format of the answer's header behind the tensors; empty for text
 */
public record V1InferPath(String name, String version, String format) {
  private static final String PREFIX = "/api/infer/";
  private static final List<String> BEGIN = List.of("api", "infer");

  /** Null for any other request. */
  public static @Nullable V1InferPath of(String method, String target) {
    DecodedPath path = method.equals("POST") ? DecodedPath.of(target) : null;
    if (path == null) {
      return null;
    }
    List<String> parts = path.parts();
    int named = parts.size() - BEGIN.size();
    if (named < 1 || named > 2 || !parts.subList(0, BEGIN.size()).equals(BEGIN)) {
      return null;
    }
    String name = parts.get(2);
    String version = named == 2 ? parts.get(3) : "";
    return name.isEmpty() || (named == 2 && version.isEmpty())
        ? null
        : new V1InferPath(name, version, Query.value(target, "format"));
  }

  /** True when a path begins as those of inference do. */
  static boolean beginsAsOne(String path) {
    return path.startsWith(PREFIX) && path.length() > PREFIX.length();
  }

  /**
   * Whether the header behind the tensors is to be in binary form.
   *
   * @throws dev.roundhouse.kserve.status.WireException INVALID_ARGUMENT when the format is none
   */
  public boolean isBinary() {
    return V1Answer.isBinary(format);
  }
}
