package dev.roundhouse.engine.model;

import org.jspecify.annotations.Nullable;

/**
 * A published version: its status and what serves it, which change together.
 *
 * @param serving null unless the version is built: ready, or waiting for what it calls
 */
public record PublishedVersion(ModelStatus status, @Nullable Servable serving) {

  static PublishedVersion of(ModelStatus status) {
    return new PublishedVersion(status, null);
  }

  /** The programs of what serves it; null when it has none. */
  public @Nullable ProgramModel programs() {
    return serving == null ? null : serving.inLane();
  }
}
