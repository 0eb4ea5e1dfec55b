package dev.roundhouse.platform.access;

import java.util.Locale;

/** What a method is about. Each category has an {@link AccessRule} of its own. */
public enum ApiCategory {
  /** Whether the server and its models are live and ready. */
  HEALTH,
  /** Which server and models these are, their contracts and configurations. */
  METADATA,
  INFERENCE,
  STATISTICS,
  /** Memory that clients share with the server. */
  SHARED_MEMORY,
  /** Loading and unloading of models. */
  MODEL_REPOSITORY,
  /** Which requests are traced. */
  TRACE,
  /** What is logged. */
  LOGGING,
  /** Weights, residency, placement, drain and recordings: for operators. */
  CONTROL;

  /** The name in the configuration. */
  public String key() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
