package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.EnumMap;
import java.util.Map;

/**
 * How long the device has run, and how long it has been idle, by reason. The dispatch thread
 * writes: a few stores for each change, and nothing while nothing changes. Any thread may read, at
 * any time, and sees no sum fall; readers wait for each other, not for the writer.
 */
final class DeviceTime {
  private static final VarHandle SEQUENCE;

  static {
    try {
      SEQUENCE = MethodHandles.lookup().findVarHandle(DeviceTime.class, "sequence", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final NanoClock clock;
  private final long[] nanos = new long[DeviceUse.values().length];

  /** What readers have been told. */
  private final long[] told = new long[nanos.length];

  private DeviceUse now = DeviceUse.NO_REQUESTS;
  private long sinceNanos;

  /** Odd while it is being changed: a reader reads again. */
  private long sequence;

  DeviceTime(NanoClock clock) {
    this.clock = clock;
    sinceNanos = clock.nanoTime();
  }

  /** From now on it is as said. */
  void become(DeviceUse use) {
    if (use != now) {
      become(use, clock.nanoTime());
    }
  }

  /** As {@link #become(DeviceUse)}, by a clock that has been read already. */
  void become(DeviceUse use, long atNanos) {
    SEQUENCE.setOpaque(this, sequence + 1);
    VarHandle.storeStoreFence();
    nanos[now.ordinal()] += Math.max(0, atNanos - sinceNanos);
    sinceNanos = Math.max(sinceNanos, atNanos);
    now = use;
    SEQUENCE.setRelease(this, sequence + 1);
  }

  /** Nanoseconds until now, of each use; together, all the time since this was made. */
  Map<DeviceUse, Long> read() {
    while (true) {
      long before = (long) SEQUENCE.getAcquire(this);
      if ((before & 1) == 0) {
        long[] sums = nanos.clone();
        // The clock before the last look: what changes later may not count for what was before.
        sums[now.ordinal()] += Math.max(0, clock.nanoTime() - sinceNanos);
        VarHandle.acquireFence();
        if ((long) SEQUENCE.getOpaque(this) == before) {
          return neverLess(sums);
        }
      }
      Thread.yield(); // the writer may have lost its processor to this thread
    }
  }

  /**
   * A change is written a moment after it was, and until then counts as time of what was before.
   */
  private synchronized Map<DeviceUse, Long> neverLess(long[] sums) {
    Map<DeviceUse, Long> byUse = new EnumMap<>(DeviceUse.class);
    for (DeviceUse use : DeviceUse.values()) {
      told[use.ordinal()] = Math.max(told[use.ordinal()], sums[use.ordinal()]);
      byUse.put(use, told[use.ordinal()]);
    }
    return byUse;
  }
}
