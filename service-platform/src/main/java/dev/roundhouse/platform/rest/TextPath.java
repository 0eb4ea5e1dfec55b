package dev.roundhouse.platform.rest;

import org.jspecify.annotations.Nullable;

/** What is asked of texts, in shapes that other servers' clients speak. */
public enum TextPath {
  EMBEDDINGS("/v1/embeddings", "input"),
  RERANK("/v1/rerank", "documents"),
  CLASSIFY("/v1/classify", "input");

  static final String PREFIX = "/v1/";

  private final String path;
  private final String texts;

  TextPath(String path, String texts) {
    this.path = path;
    this.texts = texts;
  }

  /** Null for any other request. */
  public static @Nullable TextPath of(String method, String target) {
    DecodedPath asked = method.equals("POST") ? DecodedPath.of(target) : null;
    return asked == null ? null : of(asked.toString());
  }

  /** Null for any other path. */
  static @Nullable TextPath of(String path) {
    for (TextPath each : values()) {
      if (each.path.equals(path)) {
        return each;
      }
    }
    return null;
  }

  public String path() {
    return path;
  }

  /** The property of a request that has its texts. */
  public String texts() {
    return texts;
  }
}
