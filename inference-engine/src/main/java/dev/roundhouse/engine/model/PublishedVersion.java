package dev.roundhouse.engine.model;

import org.jspecify.annotations.Nullable;

/**
 * A version as everybody sees it: what is said of it and what serves it, which change together.
 *
 * @param serving null unless the version is ready
 */
public record PublishedVersion(ModelStatus status, @Nullable ServedModel serving) {

  static PublishedVersion of(ModelStatus status) {
    return new PublishedVersion(status, null);
  }
}
