package dev.roundhouse.engine.floor;

import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.floor.SharedRegions.Wanted;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * All weights that wait on the host, and the memory they take. Borrows the device, which outlives
 * it. Thread-safe: what reads files or waits for other processes blocks its caller, and others only
 * where they want the same floor.
 */
public final class HostWeightStore implements AutoCloseable {
  private static final long MOST_IDLE_BYTES = 256L << 20;
  private static final int IDLE_PART = 4;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final FloorOptions options;
  private final HostBytes account = new HostBytes();
  private final PrivateStore privately;
  private final @Nullable SharedRegions shared;
  private final @Nullable WeightDigests digests;
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong readBytes = new AtomicLong();
  private final AtomicLong readNanos = new AtomicLong();

  /** Evictable floors, leased longest ago first. Guarded by this. */
  private final LinkedHashSet<HostWeights> evictable = new LinkedHashSet<>();

  private int floors;
  private long evictions;

  /** Removes what killed processes of this user have left in shared memory. */
  public HostWeightStore(FloorOptions options, Device device) {
    this(options, device, PATIENCE, WeightDigests.SETTLED, _ -> {});
  }

  HostWeightStore(
      FloorOptions options,
      Device device,
      Duration patience,
      Duration settled,
      SharedRegions.Watcher watcher) {
    this.options = options;
    Pins pins = new Pins(device);
    privately =
        new PrivateStore(
            options.hugePages(),
            pins,
            account,
            options.budgetName(),
            this::makeRoom,
            Math.min(MOST_IDLE_BYTES, options.budgetBytes() / IDLE_PART));
    shared =
        options
            .sharing()
            .map(sharing -> new SharedRegions(sharing, account, pins, patience, watcher))
            .orElse(null);
    digests =
        options
            .sharing()
            .map(sharing -> new WeightDigests(sharing.digests(), settled))
            .orElse(null);
    if (shared != null) {
      shared.sweep();
    }
  }

  /** As {@link #open(String, WeightSource, FloorKind)}, of the kind that the options name. */
  public HostWeights open(String model, WeightSource weights) {
    return open(model, weights, options.kind());
  }

  /**
   * Makes a model's floor. Reads the weights when they are to be kept, there is room for them, and
   * no other process shares them; weights without an origin are kept in any case. The caller closes
   * the result.
   *
   * @param weights borrowed for the call
   * @throws dev.roundhouse.bundle.error.BundleException when they cannot be read or are not what
   *     was published; nothing is kept then
   * @throws FloorException when there is no memory for them
   */
  public HostWeights open(String model, WeightSource weights, FloorKind kind) {
    Optional<WeightsOrigin> origin = weights.origin();
    FloorKind possible = origin.isEmpty() ? FloorKind.KEPT : kind;
    HostWeights floor = new HostWeights(this, model, new FloorLayout(weights), origin, possible);
    FloorMemory memory = stays(floor) ? bring(floor, weights) : null;
    synchronized (this) {
      floors++;
      floor.memory = memory;
      if (memory != null) {
        rest(floor);
      }
    }
    return floor;
  }

  Lease lease(HostWeights floor) {
    floor.reading().lock();
    try {
      FloorMemory memory = begin(floor);
      if (memory != null && !memory.isIntact()) {
        abandon(floor, memory);
        memory = null;
      }
      if (memory == null) {
        memory = bring(floor, null);
        adopt(floor, memory);
      }
      return new Lease(floor, memory);
    } finally {
      floor.reading().unlock();
    }
  }

  private synchronized @Nullable FloorMemory begin(HostWeights floor) {
    if (floor.closed) {
      throw closed(floor);
    }
    FloorMemory memory = floor.memory;
    if (memory != null) {
      memory.leases++;
      evictable.remove(floor);
    }
    return memory;
  }

  private void adopt(HostWeights floor, FloorMemory memory) {
    synchronized (this) {
      if (!floor.closed) {
        floor.memory = memory;
        memory.leases++;
        return;
      }
    }
    memory.free();
    throw closed(floor);
  }

  private static IllegalStateException closed(HostWeights floor) {
    return new IllegalStateException("the floor of model '" + floor.model() + "' is closed");
  }

  /** Ends a lease of memory that must not be leased again. */
  private void abandon(HostWeights floor, FloorMemory memory) {
    if (memory instanceof SharedRegion region) {
      region.disown();
    }
    synchronized (this) {
      floor.memory = null;
      memory.dropped = true;
    }
    end(floor, memory);
  }

  /** Ends a lease. */
  void end(HostWeights floor, FloorMemory memory) {
    boolean free;
    synchronized (this) {
      memory.leases--;
      free = memory.leases == 0 && (memory.dropped || !stays(floor));
      if (free && floor.memory == memory) {
        floor.memory = null;
      }
      if (memory.leases == 0 && !free) {
        rest(floor);
      }
    }
    if (free) {
      memory.free();
    }
    makeRoom(0);
  }

  boolean evict(HostWeights floor) {
    FloorMemory memory;
    synchronized (this) {
      memory = floor.memory;
      if (memory == null) {
        return true;
      }
      if (memory.leases > 0 || floor.origin() == null) {
        return false;
      }
      release(floor);
    }
    memory.free();
    return true;
  }

  void keepAs(HostWeights floor, FloorKind wanted) {
    synchronized (this) {
      if (floor.origin() != null) {
        floor.kind = wanted;
      }
    }
    if (wanted == FloorKind.RE_READ) {
      evict(floor);
    }
  }

  void close(HostWeights floor) {
    FloorMemory memory;
    synchronized (this) {
      if (floor.closed) {
        return;
      }
      floor.closed = true;
      floors--;
      evictable.remove(floor);
      memory = floor.memory;
      floor.memory = null;
      if (memory == null || memory.leases > 0) {
        if (memory != null) {
          memory.dropped = true;
        }
        return;
      }
    }
    memory.free();
  }

  synchronized FloorReport report(HostWeights floor) {
    FloorMemory memory = floor.memory;
    return new FloorReport(
        floor.kind,
        floor.byteSize(),
        memory == null ? 0 : memory.heldBytes(),
        memory != null,
        memory != null && memory.isShared(),
        memory != null && memory.hasHugePages(),
        memory != null && memory.isPinned());
  }

  public synchronized FloorTotals totals() {
    return new FloorTotals(
        floors,
        account.held(),
        account.shared(),
        privately.savedBytes(),
        options.budgetBytes(),
        reads.get(),
        readBytes.get(),
        readNanos.get(),
        evictions);
  }

  /** Whether memory stays when nobody leases it. */
  private synchronized boolean stays(HostWeights floor) {
    return floor.origin() == null
        || floor.kind == FloorKind.KEPT && floor.layout().blockBytes() <= options.budgetBytes();
  }

  private void rest(HostWeights floor) {
    if (floor.origin() != null) {
      evictable.add(floor);
    }
  }

  private void release(HostWeights floor) {
    evictable.remove(floor);
    floor.memory = null;
    evictions++;
  }

  /**
   * Brings weights into memory.
   *
   * @param given open already; null when the files are to be opened again
   */
  private FloorMemory bring(HostWeights floor, @Nullable WeightSource given) {
    FloorLayout layout = floor.layout();
    try (Reading reading = new Reading(floor, given)) {
      FloorMemory memory = null;
      if (stays(floor)) {
        // Page-locking takes longer than reading: do it at the load, not while requests wait.
        boolean pin = given != null;
        memory = share(floor, reading, pin);
        if (memory == null) {
          memory = privately.keep(layout, reading.source(), pin);
        }
      } else {
        memory = privately.readThrough(layout, reading.source());
      }
      if (reading.wasStarted()) {
        reads.incrementAndGet();
        readBytes.addAndGet(layout.byteSize());
        readNanos.addAndGet(reading.nanos());
      }
      return memory;
    }
  }

  private @Nullable FloorMemory share(HostWeights floor, Reading reading, boolean pin) {
    WeightsOrigin origin = floor.origin();
    if (shared == null || digests == null || origin == null) {
      return null;
    }
    boolean isPublished = origin.sha256().isPresent();
    if (!isPublished && floor.computedDigest == null) {
      floor.computedDigest = digests.of(floor.model(), origin).orElse(null);
    }
    String content = isPublished ? origin.sha256().get() : floor.computedDigest;
    if (content == null) {
      return null;
    }
    Wanted wanted = new Wanted(floor.model(), digest(content, floor), floor.layout(), pin);
    makeRoom(wanted.bytes());
    WeightDigests known = digests;
    return shared
        .open(
            wanted,
            () ->
                isPublished
                    ? reading.source()
                    : new DigestedWeights(floor, reading.source(), content, known))
        .orElse(null);
  }

  /** Of what a region holds: the bytes, and how they are cut into tensors. */
  private static byte[] digest(String sha256, HostWeights floor) {
    String content = "floor 1 " + sha256 + " " + floor.types();
    return WeightDigests.sha256().digest(content.getBytes(StandardCharsets.UTF_8));
  }

  /** Evicts floors until {@code bytes} more fit, as far as possible. */
  private void makeRoom(long bytes) {
    while (account.held() > options.budgetBytes() - bytes) {
      if (!privately.clearIdle() && !evictOldest()) {
        return;
      }
    }
  }

  private boolean evictOldest() {
    FloorMemory memory;
    synchronized (this) {
      if (evictable.isEmpty()) {
        return false;
      }
      HostWeights oldest = evictable.getFirst();
      memory = oldest.memory;
      release(oldest);
    }
    if (memory != null) {
      memory.free();
    }
    return true;
  }

  /** Frees idle memory. Floors that are still open stay usable, and are freed when closed. */
  @Override
  public void close() {
    privately.clearIdle();
  }
}
