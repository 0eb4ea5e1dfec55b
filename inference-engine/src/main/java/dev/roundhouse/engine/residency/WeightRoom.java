package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.DeviceException;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what weights take on the device, of what they may: the pool, which is smaller the more the
 * runs of registered models need besides. Owned by the dispatch thread.
 */
final class WeightRoom {
  private static final Logger log = LoggerFactory.getLogger(WeightRoom.class);

  private final ResidencyOptions options;
  private final OptionalLong arenaBytes;

  /** Scratch of the registered models, and how many of them need as much. */
  private final TreeMap<Long, Integer> scratch = new TreeMap<>();

  private DeviceBudget budget = DeviceBudget.UNLIMITED;
  private long poolBytes;
  private boolean overcommitted;

  /** Written by the dispatch thread, read by any. */
  private final AtomicLong residentBytes = new AtomicLong();

  private long pinnedBytes;
  private long pinnedThere;
  private long loadingBytes;

  /**
   * @param arenaBytes what the device may give out; empty when there is no limit that is known
   */
  WeightRoom(ResidencyOptions options, OptionalLong arenaBytes) {
    this.options = options;
    this.arenaBytes = arenaBytes;
    setBudget();
  }

  /** False when nothing ever has to leave. */
  boolean isLimited() {
    return arenaBytes.isPresent();
  }

  // --- what there may be

  /** A model is registered, whose runs take so much besides weights. */
  void addScratch(long bytes) {
    scratch.merge(bytes, 1, Integer::sum);
    setBudget();
  }

  void removeScratch(long bytes) {
    scratch.merge(bytes, -1, (had, less) -> had + less == 0 ? null : had + less);
    setBudget();
  }

  private void setBudget() {
    budget =
        arenaBytes.isEmpty()
            ? DeviceBudget.UNLIMITED
            : new DeviceBudget(
                arenaBytes.getAsLong(), options.fraction(), options.wiggle(), scratchBytes());
    poolBytes = budget.poolBytes();
    boolean was = overcommitted;
    overcommitted = budget.isOvercommitted(pinnedBytes);
    if (overcommitted && !was) {
      log.warn(
          "{} bytes of weights are pinned and only {} fit, as runs take up to {} bytes besides:"
              + " weights that are not pinned come only when nothing else is there, and runs may"
              + " find no memory; unpin some, or unload the model whose runs take most",
          pinnedBytes,
          poolBytes,
          scratchBytes());
    }
  }

  /** What weights may take on the device; {@link Long#MAX_VALUE} for no limit that is known. */
  long poolBytes() {
    return poolBytes;
  }

  /** Most that the runs of one model take besides weights. */
  long scratchBytes() {
    return scratch.isEmpty() ? 0 : scratch.lastKey();
  }

  /** What is free of the pool, when so much of it is used for other things; may be negative. */
  long freeBytes(long otherBytes) {
    return poolBytes - residentBytes.get() - loadingBytes - otherBytes;
  }

  /**
   * Weights larger than the pool come when nothing else is there that could leave.
   *
   * @param leavingBytes of what is to leave for them
   */
  boolean hasDeviceToItself(long need, long leavingBytes) {
    long left = residentBytes.get() - pinnedThere - leavingBytes;
    return need > budget.cacheBytes(pinnedBytes) && left == 0 && loadingBytes == 0;
  }

  // --- what there is

  void begin(long bytes) {
    loadingBytes += bytes;
  }

  /** A load that was begun has ended, with or without weights. */
  void ended(long bytes) {
    loadingBytes -= bytes;
  }

  void came(long bytes, boolean pinned) {
    residentBytes.addAndGet(bytes);
    pinnedThere += pinned ? bytes : 0;
  }

  void left(long bytes, boolean pinned) {
    residentBytes.addAndGet(-bytes);
    pinnedThere -= pinned ? bytes : 0;
  }

  /**
   * Counts weights as pinned.
   *
   * @throws DeviceException OUT_OF_MEMORY when they do not fit beside what is pinned already
   */
  void pin(long bytes, boolean isThere) {
    if (bytes > budget.cacheBytes(pinnedBytes)) {
      throw new DeviceException(
          DeviceException.Code.OUT_OF_MEMORY,
          "pinning its %d bytes of weights takes more than is left: %d of the %d bytes for weights on the device are pinned already; unpin others, or have a larger device"
              .formatted(bytes, pinnedBytes, poolBytes));
    }
    pinnedBytes += bytes;
    pinnedThere += isThere ? bytes : 0;
  }

  void unpin(long bytes, boolean isThere) {
    pinnedBytes -= bytes;
    pinnedThere -= isThere ? bytes : 0;
  }

  /** Any thread may ask. */
  long residentBytes() {
    return residentBytes.get();
  }

  long pinnedBytes() {
    return pinnedBytes;
  }

  long loadingBytes() {
    return loadingBytes;
  }
}
