package dev.roundhouse.platform.rest;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The path of a request, taken apart at its slashes, each part as it was meant: what is
 * percent-encoded is decoded, parameters behind a semicolon are left out. A part that is {@code .},
 * {@code ..} or empty means just that, and so nothing that there is.
 *
 * @param parts behind the first slash
 */
public record DecodedPath(List<String> parts) {
  /** What no target may have as it is. */
  private static final String ILLEGAL = "\"#<>\\^`{|}";

  private static final int HEX = 16;

  /**
   * What a target names.
   *
   * @param target as the client wrote it, with its query
   * @return null when it is none: a part that is no UTF-8, or has a slash, a backslash or a NUL
   *     within, or parts that lead out of the root
   */
  public static @Nullable DecodedPath of(String target) {
    String path = withoutAuthority(target);
    int query = path.indexOf('?');
    String[] written = (query < 0 ? path : path.substring(0, query)).split("/", -1);
    if (written.length < 2 || !written[0].isEmpty()) {
      return null;
    }
    List<String> parts = new ArrayList<>(written.length - 1);
    int depth = 0;
    for (int i = 1; i < written.length; i++) {
      String part = decoded(written[i]);
      if (part == null) {
        return null;
      }
      depth += part.equals("..") ? -1 : part.isEmpty() || part.equals(".") ? 0 : 1;
      if (depth < 0) {
        return null;
      }
      parts.add(part);
    }
    return new DecodedPath(List.copyOf(parts));
  }

  /** As a proxy is asked, which this server may be taken for. */
  private static String withoutAuthority(String target) {
    int begin = target.indexOf("://");
    if (begin < 0 || target.startsWith("/")) {
      return target;
    }
    int end = target.indexOf('/', begin + 3);
    return end < 0 ? "/" : target.substring(end);
  }

  private static @Nullable String decoded(String part) {
    int parameters = part.indexOf(';');
    int end = parameters < 0 ? part.length() : parameters;
    ByteBuffer bytes = ByteBuffer.allocate(end);
    for (int i = 0; i < end; i++) {
      char c = part.charAt(i);
      if (c <= ' ' || c > '~' || ILLEGAL.indexOf(c) >= 0) {
        return null;
      }
      if (c == '%') {
        int value = hex(part, i + 1, end);
        if (value <= 0 || value == '/' || value == '\\') {
          return null;
        }
        bytes.put((byte) value);
        i += 2;
      } else {
        bytes.put((byte) c);
      }
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** Of two digits; negative when they are none. */
  private static int hex(String part, int at, int end) {
    if (at + 2 > end) {
      return -1;
    }
    int high = Character.digit(part.charAt(at), HEX);
    int low = Character.digit(part.charAt(at + 1), HEX);
    return high < 0 || low < 0 ? -1 : high * HEX + low;
  }

  /** As it is read: decoded. */
  @Override
  public String toString() {
    return "/" + String.join("/", parts);
  }
}
