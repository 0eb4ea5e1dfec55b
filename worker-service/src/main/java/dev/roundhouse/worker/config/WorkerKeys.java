package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.KnownKeys;
import dev.roundhouse.platform.config.UnknownKeyCheck;

/** The keys that a worker reads. */
public final class WorkerKeys {
  private WorkerKeys() {}

  /** Refuses others, and models' names that cannot be told from the rest of a key. */
  public static UnknownKeyCheck check() {
    return new UnknownKeyCheck(
        WorkerProperties.PREFIX, WorkerProperties.class, new ModelNameCheck(known()));
  }

  static KnownKeys known() {
    return new KnownKeys(WorkerProperties.PREFIX, WorkerProperties.class);
  }
}
