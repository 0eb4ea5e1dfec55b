package dev.roundhouse.platform.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The keys that Spring reads, as the descriptions in its jars have them. A key that is none of
 * them, and nearly one, is a typo; any other may be somebody's own, or of a part that describes
 * none, and is let be.
 */
final class SpringKeys {
  private static final String DESCRIPTION = "META-INF/spring-configuration-metadata.json";

  /** First words of keys that settings of ours or of Spring begin with. */
  private static final List<String> ROOTS =
      List.of("roundhouse", "server", "management", "spring", "logging");

  /** What most starts set, so that no description has to be read for it. */
  private static final Set<String> USUAL =
      Set.of(
          "server.port",
          "server.address",
          "management.server.port",
          "management.server.address",
          "spring.grpc.server.port",
          "spring.grpc.server.address");

  /** Edits that make a typo. */
  private static final int MOST_EDITS = 2;

  private Set<String> names = Set.of();

  /**
   * What was probably meant by a key; empty when nothing is wrong with it.
   *
   * @param key dashed, without indexes
   */
  Optional<String> meant(String key) {
    int end = key.indexOf('.');
    String first = end < 0 ? key : key.substring(0, end);
    if (!ROOTS.contains(first)) {
      // What begins with x- is no key, but a place to keep parts of a document.
      return first.startsWith("x-")
          ? Optional.empty()
          : nearest(first, ROOTS).map(root -> root + key.substring(first.length()));
    }
    if (end < 0 || first.equals("roundhouse") || USUAL.contains(key)) {
      return Optional.empty();
    }
    if (names.isEmpty()) {
      names = read();
    }
    return isKnown(key) ? Optional.empty() : nearest(key, names);
  }

  /** Below a key that is known anything may stand: names and values of a map. */
  private boolean isKnown(String key) {
    for (int end = key.length(); end > 0; end = key.lastIndexOf('.', end - 1)) {
      if (names.contains(key.substring(0, end)) && (end == key.length() || isMap(key, end))) {
        return true;
      }
    }
    return false;
  }

  /** True of a key that no longer one begins with. */
  private boolean isMap(String key, int end) {
    String prefix = key.substring(0, end) + ".";
    return names.stream().noneMatch(name -> name.startsWith(prefix));
  }

  private static Optional<String> nearest(String word, Iterable<String> of) {
    String best = null;
    int least = MOST_EDITS + 1;
    for (String each : of) {
      if (Math.abs(each.length() - word.length()) <= MOST_EDITS) {
        int edits = EditDistance.between(word, each);
        if (edits < least || (edits == least && best != null && each.compareTo(best) < 0)) {
          least = edits;
          best = each;
        }
      }
    }
    return Optional.ofNullable(best);
  }

  private static Set<String> read() {
    Set<String> found = new HashSet<>(USUAL);
    JsonMapper json = new JsonMapper();
    try {
      for (URL part :
          Collections.list(SpringKeys.class.getClassLoader().getResources(DESCRIPTION))) {
        try (InputStream in = part.openStream()) {
          for (JsonNode property : json.readTree(in).path("properties")) {
            found.add(property.path("name").asString());
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return found;
  }
}
