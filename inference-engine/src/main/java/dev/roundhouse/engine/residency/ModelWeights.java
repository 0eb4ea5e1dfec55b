package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.hostweights.HostWeights;
import dev.roundhouse.engine.hostweights.HostWeightsReport;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One model's weights: those that wait on the host, and the device buffers made of them while they
 * are on the device. Made and closed by the loader; where they are is the dispatch thread's to say.
 */
public final class ModelWeights {
  private static final DeviceWeights NONE = new DeviceWeights(new DeviceBuffer[0], null);

  private final HostWeights hostWeights;
  private final LoadTimes times;
  private final AtomicInteger holds = new AtomicInteger();
  private final boolean mayLeave;
  private final long byteSize;
  private volatile @Nullable DeviceWeights onDevice;
  private volatile boolean coming;
  private volatile boolean inMemory;

  /**
   * @param mayLeave whether the device may have too little room for all weights
   */
  ModelWeights(HostWeights hostWeights, LoadTimes times, boolean mayLeave) {
    this.hostWeights = hostWeights;
    this.times = times;
    this.mayLeave = mayLeave && hostWeights.count() > 0;
    byteSize = hostWeights.byteSize();
    onDevice = hostWeights.count() == 0 ? NONE : null;
    inMemory = hostWeights.isInMemory();
  }

  HostWeights hostWeights() {
    return hostWeights;
  }

  /** Tensors, each an argument of every program after its inputs. */
  public int count() {
    return hostWeights.count();
  }

  /** Bytes of the weights themselves, without alignment. */
  public long byteSize() {
    return byteSize;
  }

  /** How they wait on the host. Any thread. */
  public HostWeightsReport onHost() {
    return hostWeights.report();
  }

  /** True when they are on the device; always, for a model that has none. Any thread. */
  public boolean isResident() {
    return onDevice != null;
  }

  /**
   * How long a run must wait for them at least, in nanoseconds; 0 when they are on the device or on
   * their way, or nobody can tell. Any thread.
   */
  public long leastWaitNanos(long nowNanos) {
    return isResident() || coming ? 0 : times.confirmedNanos(this, nowNanos);
  }

  /** True when they may leave the device for others'. Any thread. */
  public boolean mayLeave() {
    return mayLeave;
  }

  /** A run is about to call for them; to be {@link #release}d. Any thread. */
  public void hold() {
    holds.incrementAndGet();
  }

  /** Takes back one {@link #hold}. Any thread. */
  public void release() {
    holds.decrementAndGet();
  }

  /** True while a run is about to call for them. Any thread. */
  public boolean isHeld() {
    return holds.get() > 0;
  }

  /** Whether their last load found them in host memory. */
  boolean isInMemory() {
    return inMemory;
  }

  /** A load is about to read them, on the thread that does. */
  void reading() {
    inMemory = hostWeights.isInMemory();
  }

  void coming(boolean is) {
    coming = is;
  }

  /**
   * Puts the buffers, in the order the program takes them, into the arguments of a run. Dispatch
   * thread only.
   *
   * @throws IllegalStateException when they are not on the device
   */
  public void place(@Nullable DeviceBuffer[] arguments, int from) {
    DeviceWeights weights = onDevice;
    if (weights == null) {
      throw new IllegalStateException("weights that are not on the device cannot be run with");
    }
    weights.place(arguments, from);
  }

  void arrived(DeviceWeights weights) {
    onDevice = weights;
  }

  /** Takes what is on the device, for it to be closed; null when nothing is. */
  @Nullable DeviceWeights leave() {
    DeviceWeights weights = onDevice;
    if (weights == null || weights == NONE) {
      return null;
    }
    onDevice = null;
    return weights;
  }

  /** Frees device buffers first: they may alias the host weights. */
  void close() {
    DeviceWeights weights = leave();
    try {
      if (weights != null) {
        weights.close();
      }
    } finally {
      hostWeights.close();
    }
  }
}
