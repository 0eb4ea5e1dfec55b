package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.hostweights.SharedRegions.Wanted;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * All weights that wait on the host, and the memory they take. Borrows the device, which outlives
 * it. Thread-safe: what reads files or waits for other processes blocks its caller, and others only
 * where they want the same weights.
 */
public final class HostWeightStore implements AutoCloseable {
  private static final long MOST_IDLE_BYTES = 256L << 20;
  private static final int IDLE_PART = 4;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final HostWeightsOptions options;
  private final HostBytes account = new HostBytes();
  private final PrivateStore privately;
  private final @Nullable SharedRegions shared;
  private final @Nullable WeightDigests digests;
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong readBytes = new AtomicLong();
  private final AtomicLong readNanos = new AtomicLong();

  /** Evictable weights, leased longest ago first. Guarded by this. */
  private final LinkedHashSet<HostWeights> evictable = new LinkedHashSet<>();

  private int open;
  private long evictions;

  /** Removes what killed processes of this user have left in shared memory. */
  public HostWeightStore(HostWeightsOptions options, Device device) {
    this(options, device, PATIENCE, WeightDigests.SETTLED, _ -> {});
  }

  HostWeightStore(
      HostWeightsOptions options,
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

  /** As {@link #open(String, WeightSource, HostWeightsKind)}, of the kind that the options name. */
  public HostWeights open(String model, WeightSource source) {
    return open(model, source, options.kind());
  }

  /**
   * Opens a model's host weights. Reads them when they are to be kept, there is room for them, and
   * no other process shares them; weights without an origin are kept in any case. The caller closes
   * the result.
   *
   * @param source borrowed for the call
   * @throws dev.roundhouse.bundle.error.BundleException when they cannot be read or are not what
   *     was published; nothing is kept then
   * @throws HostWeightsException when there is no memory for them
   */
  public HostWeights open(String model, WeightSource source, HostWeightsKind kind) {
    Optional<WeightsOrigin> origin = source.origin();
    HostWeightsKind possible = origin.isEmpty() ? HostWeightsKind.KEPT : kind;
    HostWeights weights =
        new HostWeights(this, model, new HostWeightsLayout(source), origin, possible);
    HostWeightsMemory memory = stays(weights) ? bring(weights, source) : null;
    synchronized (this) {
      open++;
      weights.memory = memory;
      if (memory != null) {
        rest(weights);
      }
    }
    return weights;
  }

  Lease lease(HostWeights weights) {
    weights.reading().lock();
    try {
      HostWeightsMemory memory = begin(weights);
      if (memory != null && !memory.isIntact()) {
        abandon(weights, memory);
        memory = null;
      }
      if (memory == null) {
        memory = bring(weights, null);
        adopt(weights, memory);
      }
      return new Lease(weights, memory);
    } finally {
      weights.reading().unlock();
    }
  }

  private synchronized @Nullable HostWeightsMemory begin(HostWeights weights) {
    if (weights.closed) {
      throw closed(weights);
    }
    HostWeightsMemory memory = weights.memory;
    if (memory != null) {
      memory.leases++;
      evictable.remove(weights);
    }
    return memory;
  }

  private void adopt(HostWeights weights, HostWeightsMemory memory) {
    synchronized (this) {
      if (!weights.closed) {
        weights.memory = memory;
        memory.leases++;
        return;
      }
    }
    memory.free();
    throw closed(weights);
  }

  private static IllegalStateException closed(HostWeights weights) {
    return new IllegalStateException(
        "the host weights of model '" + weights.model() + "' are closed");
  }

  /** Ends a lease of memory that must not be leased again. */
  private void abandon(HostWeights weights, HostWeightsMemory memory) {
    if (memory instanceof SharedRegion region) {
      region.disown();
    }
    synchronized (this) {
      weights.memory = null;
      memory.dropped = true;
    }
    end(weights, memory);
  }

  /** Ends a lease. */
  void end(HostWeights weights, HostWeightsMemory memory) {
    boolean free;
    synchronized (this) {
      memory.leases--;
      free = memory.leases == 0 && (memory.dropped || !stays(weights));
      if (free && weights.memory == memory) {
        weights.memory = null;
      }
      if (memory.leases == 0 && !free) {
        rest(weights);
      }
    }
    if (free) {
      memory.free();
    }
    makeRoom(0);
  }

  boolean evict(HostWeights weights) {
    HostWeightsMemory memory;
    synchronized (this) {
      memory = weights.memory;
      if (memory == null) {
        return true;
      }
      if (memory.leases > 0 || weights.origin() == null) {
        return false;
      }
      release(weights);
    }
    memory.free();
    return true;
  }

  void keepAs(HostWeights weights, HostWeightsKind wanted) {
    synchronized (this) {
      if (weights.origin() != null) {
        weights.kind = wanted;
      }
    }
    if (wanted == HostWeightsKind.RE_READ) {
      evict(weights);
    }
  }

  void close(HostWeights weights) {
    HostWeightsMemory memory;
    synchronized (this) {
      if (weights.closed) {
        return;
      }
      weights.closed = true;
      open--;
      evictable.remove(weights);
      memory = weights.memory;
      weights.memory = null;
      if (memory == null || memory.leases > 0) {
        if (memory != null) {
          memory.dropped = true;
        }
        return;
      }
    }
    memory.free();
  }

  synchronized HostWeightsReport report(HostWeights weights) {
    HostWeightsMemory memory = weights.memory;
    return new HostWeightsReport(
        weights.kind,
        weights.byteSize(),
        memory == null ? 0 : memory.heldBytes(),
        memory != null,
        memory != null && memory.isShared(),
        memory != null && memory.hasHugePages(),
        memory != null && memory.isPinned());
  }

  public synchronized HostWeightsTotals totals() {
    return new HostWeightsTotals(
        open,
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
  private synchronized boolean stays(HostWeights weights) {
    return weights.origin() == null
        || weights.kind == HostWeightsKind.KEPT
            && weights.layout().blockBytes() <= options.budgetBytes();
  }

  private void rest(HostWeights weights) {
    if (weights.origin() != null) {
      evictable.add(weights);
    }
  }

  private void release(HostWeights weights) {
    evictable.remove(weights);
    weights.memory = null;
    evictions++;
  }

  /**
   * Brings weights into memory.
   *
   * @param given open already; null when the files are to be opened again
   */
  private HostWeightsMemory bring(HostWeights weights, @Nullable WeightSource given) {
    HostWeightsLayout layout = weights.layout();
    try (Reading reading = new Reading(weights, given)) {
      HostWeightsMemory memory = null;
      if (stays(weights)) {
        // Page-locking takes longer than reading: do it at the load, not while requests wait.
        boolean pin = given != null;
        memory = share(weights, reading, pin);
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

  private @Nullable HostWeightsMemory share(HostWeights weights, Reading reading, boolean pin) {
    WeightsOrigin origin = weights.origin();
    if (shared == null || digests == null || origin == null) {
      return null;
    }
    boolean isPublished = origin.sha256().isPresent();
    if (!isPublished && weights.computedDigest == null) {
      weights.computedDigest = digests.of(weights.model(), origin).orElse(null);
    }
    String content = isPublished ? origin.sha256().get() : weights.computedDigest;
    if (content == null) {
      return null;
    }
    Wanted wanted = new Wanted(weights.model(), digest(content, weights), weights.layout(), pin);
    makeRoom(wanted.bytes());
    WeightDigests known = digests;
    return shared
        .open(
            wanted,
            () ->
                isPublished
                    ? reading.source()
                    : new DigestedWeights(weights, reading.source(), content, known))
        .orElse(null);
  }

  /** Of what a region holds: the bytes, and how they are cut into tensors. */
  private static byte[] digest(String sha256, HostWeights weights) {
    String content = "floor 1 " + sha256 + " " + weights.types();
    return WeightDigests.sha256().digest(content.getBytes(StandardCharsets.UTF_8));
  }

  /** Evicts host weights until {@code bytes} more fit, as far as possible. */
  private void makeRoom(long bytes) {
    while (account.held() > options.budgetBytes() - bytes) {
      if (!privately.clearIdle() && !evictOldest()) {
        return;
      }
    }
  }

  private boolean evictOldest() {
    HostWeightsMemory memory;
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

  /** Frees idle memory. Host weights that are still open stay usable, and are freed when closed. */
  @Override
  public void close() {
    privately.clearIdle();
  }
}
