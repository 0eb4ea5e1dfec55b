package dev.roundhouse.hooks.text;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Tokens and their ids. */
final class Vocabulary {
  static final int NONE = -1;

  private final Map<String, Integer> ids;
  private final Map<Integer, String> tokens;

  Vocabulary(Map<String, Integer> ids) {
    this.ids = Map.copyOf(ids);
    this.tokens = HashMap.newHashMap(ids.size());
    ids.forEach((token, id) -> tokens.put(id, token));
  }

  /** Returns the token's id, or {@link #NONE}. */
  int id(String token) {
    Integer id = ids.get(token);
    return id == null ? NONE : id;
  }

  @Nullable String token(int id) {
    return tokens.get(id);
  }

  int size() {
    return ids.size();
  }

  Map<String, Integer> ids() {
    return ids;
  }

  /** Returns the ids of {@code <0x00>} to {@code <0xFF>}, {@link #NONE} where there is none. */
  int[] byteTokens() {
    int[] found = new int[256];
    java.util.Arrays.setAll(found, value -> id("<0x%02X>".formatted(value)));
    return found;
  }
}
