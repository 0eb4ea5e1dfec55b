package dev.roundhouse.transport.io;

import io.netty.util.LeakPresenceDetector;
import java.time.Duration;

/** Counts Netty's buffers that have not been released; Netty makes it by its name. */
public final class Leaks<T> extends LeakPresenceDetector<T> {
  private static final Duration LONG = Duration.ofSeconds(30);

  private static volatile ResourceScope scope = new ResourceScope("tests");

  public Leaks(Class<?> type) {
    super(type);
  }

  public Leaks(Class<?> type, int samplingInterval) {
    super(type, samplingInterval);
  }

  public Leaks(Class<?> type, int samplingInterval, long maxActive) {
    super(type, samplingInterval, maxActive);
  }

  @Override
  protected ResourceScope currentScope() {
    return scope;
  }

  /**
   * Waits until every buffer has been released.
   *
   * @throws IllegalStateException with where each of the others was allocated; tests that follow do
   *     not wait for these again
   */
  public static void awaitNone() {
    ResourceScope all = scope;
    long end = System.nanoTime() + LONG.toNanos();
    while (all.hasOpenResources() && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    if (all.hasOpenResources()) {
      scope = new ResourceScope("tests");
      all.close();
    }
  }
}
