package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Regions by name, in one namespace for all kinds. Thread-safe. */
final class RegionTable {
  private final int most;
  private final Map<String, ClientRegion> regions = new TreeMap<>();

  /** Names of regions that are being opened. */
  private final Set<String> taken = new HashSet<>();

  private boolean closed;

  /**
   * @param most regions at once
   */
  RegionTable(int most) {
    this.most = most;
  }

  /**
   * Reserves a name for a region that is about to be opened; {@link #put} or {@link #giveUp}
   * follows.
   *
   * @throws WireException ALREADY_EXISTS, or RESOURCE_EXHAUSTED at the limit
   */
  synchronized void take(String name) {
    if (regions.containsKey(name) || taken.contains(name)) {
      throw new WireException(
          WireStatus.ALREADY_EXISTS, "shared memory region '" + name + "' already in manager");
    }
    int count = regions.size() + taken.size();
    if (count >= most) {
      throw new WireException(
          WireStatus.RESOURCE_EXHAUSTED,
          "%d shared memory regions are registered and that is the limit; unregister some, or raise roundhouse.worker.shared-memory.max-regions"
              .formatted(count));
    }
    taken.add(name);
  }

  /**
   * Registers a region under the name that was reserved for it.
   *
   * @param region taken
   * @throws WireException UNAVAILABLE when the worker is stopping; the region has been released
   */
  void put(ClientRegion region) {
    synchronized (this) {
      taken.remove(region.name());
      if (!closed) {
        regions.put(region.name(), region);
        return;
      }
    }
    region.release();
    throw new WireException(WireStatus.UNAVAILABLE, "Server exiting");
  }

  synchronized void giveUp(String name) {
    taken.remove(name);
  }

  /** The region of that name, with one more user; null for an unknown name. */
  synchronized @Nullable ClientRegion use(String name) {
    ClientRegion region = regions.get(name);
    return region != null && region.use() ? region : null;
  }

  synchronized @Nullable ClientRegion find(String name) {
    return regions.get(name);
  }

  /** How many regions of a kind there are, and what they have. */
  synchronized ClientRegions.Held held(Class<? extends ClientRegion> kind) {
    int count = 0;
    long bytes = 0;
    for (ClientRegion region : regions.values()) {
      if (kind.isInstance(region)) {
        count++;
        bytes += region.byteSize();
      }
    }
    return new ClientRegions.Held(count, bytes);
  }

  /** Regions of a kind, by name. */
  synchronized <T extends ClientRegion> List<T> all(Class<T> kind) {
    return regions.values().stream().filter(kind::isInstance).map(kind::cast).toList();
  }

  /**
   * Removes regions of a kind.
   *
   * @param name empty for all of them
   * @return the removed regions; already released
   */
  <T extends ClientRegion> List<T> remove(Class<T> kind, String name) {
    List<T> gone = new ArrayList<>();
    synchronized (this) {
      if (name.isEmpty()) {
        gone.addAll(all(kind));
      } else if (kind.isInstance(regions.get(name))) {
        gone.add(kind.cast(regions.get(name)));
      }
      gone.forEach(region -> regions.remove(region.name()));
    }
    gone.forEach(ClientRegion::release);
    return gone;
  }

  /** Removes all regions and accepts no more. */
  void close() {
    synchronized (this) {
      closed = true;
    }
    var unused = remove(ClientRegion.class, "");
  }
}
