package dev.roundhouse.grpc;

import io.netty.util.LeakPresenceDetector;

/** Counts Netty's buffers that have not been released; Netty makes it by its name. */
public final class Leaks<T> extends LeakPresenceDetector<T> {
  private static final ResourceScope ALL = new ResourceScope("tests");

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
    return ALL;
  }

  /** True when a buffer is in use. */
  static boolean any() {
    return ALL.hasOpenResources();
  }
}
