package dev.roundhouse.engine.state;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The states that are on the device, and the order in which they leave: what was used longest ago
 * first, and nothing that a batch has for an argument. To leave is to be copied to the host, where
 * the memory is counted from the sequence's beginning. Thread-safe; its lock guards all states, and
 * is not held while bytes are copied.
 */
public final class DeviceStates {
  private static final Logger log = LoggerFactory.getLogger(DeviceStates.class);

  /** Most of the memory for weights that states may take. */
  private static final int POOL_PART = 4;

  // Guarded by this. What was used longest ago stands first.
  private final Set<CarriedState> onDevice = new LinkedHashSet<>();
  private long limit = Long.MAX_VALUE;
  private boolean closed;
  private volatile boolean abandoned;

  /** Written under the lock. */
  private volatile long bytes;

  /** Has states take a quarter, at most, of what weights may take on the device. */
  public synchronized void shareOf(long poolBytes) {
    limit = poolBytes == Long.MAX_VALUE ? poolBytes : poolBytes / POOL_PART;
  }

  /** What states take on the device, be they a step's that has not been answered yet. */
  public long bytes() {
    return bytes;
  }

  /**
   * Has states leave until they amount to so many bytes, or no more can.
   *
   * @return how many bytes have left
   */
  public long makeRoom(long wanted) {
    if (bytes == 0) {
      return 0;
    }
    List<CarriedState> inOrder;
    synchronized (this) {
      inOrder = List.copyOf(onDevice);
    }
    long left = 0;
    for (CarriedState state : inOrder) {
      if (left >= wanted) {
        break;
      }
      try {
        left += state.leave();
      } catch (Throwable e) {
        // It stays where it is, and others leave; a lost device says so to the next run, too.
        log.warn("state of a sequence could not be copied to the host: {}", e.toString());
      }
    }
    return left;
  }

  /** Frees what is on the device; nothing comes there any more. */
  public void close() {
    List<CarriedState> all;
    synchronized (this) {
      closed = true;
      all = List.copyOf(onDevice);
    }
    all.forEach(CarriedState::close);
  }

  /**
   * The engine has failed: nothing is freed on the device any more, as that may hang whoever ends
   * the open requests. Any thread.
   */
  public void abandon() {
    abandoned = true;
  }

  boolean isAbandoned() {
    return abandoned;
  }

  /** Makes others leave once there is more than may be. */
  void keepWithinLimit() {
    long over = bytes - limit;
    if (over > 0) {
      makeRoom(over);
    }
  }

  /** True when so many bytes more are no more than may be. */
  public synchronized boolean hasRoom(long more) {
    return !closed && bytes + more <= limit;
  }

  // Under the lock.

  boolean isClosed() {
    return closed;
  }

  void used(CarriedState state) {
    if (onDevice.remove(state)) {
      onDevice.add(state);
    }
  }

  /** Counts what is held there from now on, or any more if negative. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // under the lock
  void add(long heldBytes) {
    bytes += heldBytes;
  }

  /** Says whether a state may leave from now on, as the last of them; or has left. */
  void place(CarriedState state, boolean there) {
    onDevice.remove(state);
    if (there) {
      onDevice.add(state);
    }
  }
}
