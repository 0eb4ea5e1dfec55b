package dev.roundhouse.simulation.fleet;

import org.jspecify.annotations.Nullable;

/**
 * Remembers the first promise that the engine broke. What sees it stands below or above the engine,
 * which would take an exception for a failing device or caller and carry on.
 */
public final class Promises {
  private @Nullable String broken;

  /** Notes that something happened that must not. */
  public void broken(String what, Object... details) {
    if (broken == null) {
      broken = what.formatted(details);
    }
  }

  /**
   * @throws IllegalStateException when a promise was broken, with the first
   */
  public void check() {
    if (broken != null) {
      throw new IllegalStateException(broken);
    }
  }
}
