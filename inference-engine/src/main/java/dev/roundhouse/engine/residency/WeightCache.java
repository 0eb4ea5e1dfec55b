package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.schedule.ReadyHeap;
import dev.roundhouse.engine.state.DeviceStates;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Which models' weights are on the device, and which of them leave when others need the room.
 * Memory is counted ({@link WeightRoom}) when a load is asked for and again when weights are chosen
 * to leave: the {@link WeightUploader} keeps to that order. Owned by the dispatch thread.
 *
 * <p>Weights that nobody waits for leave first, in the order of the {@link EvictionPolicy}. When
 * there are none of those, weights with waiting requests leave for a request that has waited longer
 * by a few times what its load takes; the youngest first. So a loaded model runs before it leaves,
 * and no request starves. Weights that a run {@linkplain ModelWeights#hold holds} for calls to come
 * leave for a request that has waited for a few loads' time.
 */
public final class WeightCache {
  /** How many loads' time a request waits longer than others before their weights leave for it. */
  private static final int PATIENCE_LOADS = 4;

  private static final long NOT_WANTED = Long.MIN_VALUE;

  private final WeightRoom room;
  private final LoadTimes times;
  private final DeviceStates states;
  private final EvictionPolicy policy;
  private @Nullable Entry[] entries = new @Nullable Entry[16];

  /**
   * By slot, whether the model can run. Every request asks: of thousands of models this stays in
   * the processor's cache, their own objects do not.
   */
  private boolean[] onDevice = new boolean[16];

  /** On the device, with requests waiting; the youngest front first. */
  private final ReadyHeap wanted = new ReadyHeap();

  private int absent;

  /**
   * @param arenaBytes what the device may give out; empty when there is no limit that is known
   * @param states take room beside weights, and leave before them
   */
  WeightCache(
      ResidencyOptions options, OptionalLong arenaBytes, LoadTimes times, DeviceStates states) {
    room = new WeightRoom(options, arenaBytes);
    this.times = times;
    this.states = states;
    policy = options.policy().get();
    states.shareOf(room.poolBytes());
  }

  /**
   * Takes a model in, whose weights are not on the device unless it has none.
   *
   * @param scratchBytes most that a run of it takes besides weights
   */
  public void register(int slot, ModelWeights weights, long scratchBytes) {
    if (slot >= entries.length) {
      entries = Arrays.copyOf(entries, Math.max(slot + 1, entries.length * 2));
      onDevice = Arrays.copyOf(onDevice, entries.length);
    }
    entries[slot] = new Entry(weights, scratchBytes);
    onDevice[slot] = weights.isResident();
    if (weights.isResident()) {
      return;
    }
    absent++;
    room.addScratch(scratchBytes);
    states.shareOf(room.poolBytes());
    policy.register(slot, weights.byteSize(), expectedNanos(weights));
  }

  /**
   * Forgets a model that is not being loaded.
   *
   * @return what it has on the device, to be closed; null when it has nothing there
   */
  public @Nullable Left unregister(int slot) {
    Entry entry = slot < entries.length ? entries[slot] : null;
    if (entry == null) {
      return null;
    }
    entries[slot] = null;
    onDevice[slot] = false;
    if (entry.pinned) {
      room.unpin(entry.weights.byteSize(), entry.isOnDevice());
      entry.pinned = false;
    }
    if (entry.weights.count() == 0) {
      return null;
    }
    wanted.remove(slot);
    if (entry.weights.isResident()) {
      uncount(entry);
    } else {
      absent--;
    }
    room.removeScratch(entry.scratchBytes);
    states.shareOf(room.poolBytes());
    policy.unregister(slot);
    return left(slot, entry);
  }

  /** True when a model's weights come only when nothing else is there that could leave. */
  public boolean isTooLarge(int slot) {
    return entry(slot).weights.byteSize() > room.poolBytes();
  }

  /** True when the model's weights are on the device; always, for a model that has none. */
  public boolean isOnDevice(int slot) {
    return slot < onDevice.length && onDevice[slot];
  }

  /** True when some model is not on the device. */
  public boolean hasAbsent() {
    return absent > 0;
  }

  /** How long it is expected to take to bring weights to the device, in nanoseconds. */
  public long expectedNanos(ModelWeights weights) {
    return times.expectedNanos(weights);
  }

  // --- who is wanted

  /** Requests wait for a model that is on the device, the first of them since {@code front}. */
  public void wanted(int slot, long frontNanos) {
    if (canLeave(slot)) {
      if (!wanted.contains(slot)) {
        policy.hold(slot);
      }
      wanted.put(slot, -frontNanos, 0);
    }
  }

  /** No request waits for the model any more. Harmless when none did. */
  public void unwanted(int slot) {
    if (wanted.contains(slot)) {
      wanted.remove(slot);
      policy.release(slot);
    }
  }

  /** A batch of the model is to run. */
  public void used(int slot, long nowNanos) {
    if (room.isLimited()) {
      Entry entry = entry(slot);
      entry.lastUsedNanos = nowNanos;
      if (entry.weights.count() > 0) {
        policy.used(slot, nowNanos);
      }
    }
  }

  private boolean canLeave(int slot) {
    if (!room.isLimited()) {
      return false;
    }
    Entry entry = entry(slot);
    return !entry.pinned && entry.isOnDevice();
  }

  // --- coming and going

  /**
   * Evicts enough for a model to load. All or nothing: when not enough can leave now, nothing does.
   *
   * @param frontNanos since when its first request has waited
   * @param inUse whether a batch of a model is on its way
   * @return what has left, its buffers to be closed before the load; null when there is no room now
   */
  public @Nullable List<Left> makeRoom(
      int slot, long frontNanos, long nowNanos, IntPredicate inUse) {
    Entry entry = entry(slot);
    long need = entry.weights.byteSize();
    long missing = need - room.freeBytes(states.bytes());
    if (missing > 0) {
      missing -= states.makeRoom(missing);
    }
    if (missing <= 0) {
      return List.of();
    }
    long youngest = frontNanos + PATIENCE_LOADS * expectedNanos(entry.weights);
    List<Chosen> leaving = choose(missing, youngest, nowNanos, inUse);
    long bytes = byteSize(leaving);
    if (bytes < missing && !room.hasDeviceToItself(need, bytes)) {
      leaving.forEach(this::putBack);
      return null;
    }
    return leaving.stream().map(this::evict).toList();
  }

  /**
   * Has weights leave that no request waits for, the least worth first, until they amount to so
   * many bytes or there are no more.
   *
   * @return what has left, its buffers to be closed
   */
  public List<Left> leave(long bytes, IntPredicate inUse) {
    return choose(bytes, Long.MAX_VALUE, 0, inUse).stream().map(this::evict).toList();
  }

  /** Has the state of all sequences leave that no batch is about to use; false when none can. */
  public boolean leaveStates() {
    return states.makeRoom(Long.MAX_VALUE) > 0;
  }

  /** Takes out of where they stand so many bytes of weights, or less when no more can leave. */
  private List<Chosen> choose(long bytes, long youngest, long nowNanos, IntPredicate inUse) {
    List<Chosen> leaving = new ArrayList<>();
    List<Chosen> staying = new ArrayList<>();
    Deque<Integer> held = new ArrayDeque<>(0);
    long missing = bytes;
    while (missing > 0) {
      Chosen chosen = choose(youngest, nowNanos, held);
      if (chosen == null) {
        break;
      }
      if (inUse.test(chosen.slot)) {
        staying.add(chosen);
      } else {
        leaving.add(chosen);
        missing -= entry(chosen.slot).weights.byteSize();
      }
    }
    staying.forEach(this::putBack);
    held.forEach(policy::release);
    return leaving;
  }

  private long byteSize(List<Chosen> leaving) {
    return leaving.stream().mapToLong(chosen -> entry(chosen.slot).weights.byteSize()).sum();
  }

  /**
   * Takes the next to leave out of where it stands; null when there is none.
   *
   * @param held idle ones that are to run soon, taken out before
   */
  private @Nullable Chosen choose(long youngest, long nowNanos, Deque<Integer> held) {
    for (int idle = policy.victim(); idle != -1; idle = policy.victim()) {
      policy.hold(idle);
      if (!entry(idle).weights.isHeld()) {
        return new Chosen(idle, NOT_WANTED);
      }
      held.add(idle);
    }
    if (nowNanos > youngest && !held.isEmpty()) {
      return new Chosen(held.removeFirst(), NOT_WANTED);
    }
    if (!wanted.isEmpty() && -wanted.firstKey() > youngest) {
      Chosen chosen = new Chosen(wanted.first(), wanted.firstKey());
      wanted.remove(chosen.slot);
      return chosen;
    }
    return null;
  }

  private void putBack(Chosen chosen) {
    if (chosen.key == NOT_WANTED) {
      policy.release(chosen.slot);
    } else {
      wanted.put(chosen.slot, chosen.key, 0);
    }
  }

  private Left evict(Chosen chosen) {
    Entry entry = entry(chosen.slot);
    policy.release(chosen.slot);
    policy.evicted(chosen.slot);
    uncount(entry);
    onDevice[chosen.slot] = false;
    absent++;
    return Objects.requireNonNull(left(chosen.slot, entry), "it was on the device");
  }

  private static @Nullable Left left(int slot, Entry entry) {
    DeviceWeights weights = entry.weights.leave();
    return weights == null ? null : new Left(slot, weights);
  }

  private void uncount(Entry entry) {
    room.left(entry.weights.byteSize(), entry.pinned);
  }

  /** Takes note that a model's weights are asked for. */
  public void begin(int slot) {
    ModelWeights weights = entry(slot).weights;
    room.begin(weights.byteSize());
    weights.coming(true);
  }

  /** Takes note of how a load that was begun has ended. */
  public void ended(WeightLoad load) {
    Entry entry = entry(load.modelIndex());
    long bytes = entry.weights.byteSize();
    room.ended(bytes);
    if (load.failure() == null) {
      load.settle();
    }
    // After settle: no thread is to see weights that are neither on their way nor there.
    entry.weights.coming(false);
    if (load.failure() != null) {
      return;
    }
    onDevice[load.modelIndex()] = true;
    absent--;
    room.came(bytes, entry.pinned);
    times.measured(entry.weights, load.nanos(), load.endedNanos());
    policy.register(load.modelIndex(), bytes, load.nanos());
    policy.loaded(load.modelIndex(), load.endedNanos());
    if (entry.pinned) {
      policy.hold(load.modelIndex());
    }
  }

  // --- what the operator wants

  /**
   * Keeps weights on the device from when they are there. Harmless when they are pinned.
   *
   * @throws dev.roundhouse.engine.device.DeviceException OUT_OF_MEMORY when they do not fit beside
   *     what is pinned already
   */
  public void pin(int slot) {
    Entry entry = entry(slot);
    if (entry.pinned) {
      return;
    }
    room.pin(entry.weights.byteSize(), entry.isOnDevice());
    unwanted(slot);
    entry.pinned = true;
    if (entry.isOnDevice()) {
      policy.hold(slot);
    }
  }

  /** Lets weights leave again when others need the room. Harmless when they are not pinned. */
  public void unpin(int slot) {
    Entry entry = entry(slot);
    if (!entry.pinned) {
      return;
    }
    entry.pinned = false;
    room.unpin(entry.weights.byteSize(), entry.isOnDevice());
    if (entry.isOnDevice()) {
      policy.release(slot);
    }
  }

  /**
   * Evicts everything that is neither pinned nor in use, to defragment.
   *
   * @return what has left, its buffers to be closed
   */
  public List<Left> clear(IntPredicate inUse) {
    List<Left> left = new ArrayList<>();
    for (int slot = 0; slot < entries.length; slot++) {
      Entry entry = entries[slot];
      if (entry != null && entry.isOnDevice() && !entry.pinned && !inUse.test(slot)) {
        unwanted(slot);
        policy.hold(slot);
        left.add(evict(new Chosen(slot, NOT_WANTED)));
      }
    }
    return left;
  }

  // --- what others may know

  /** Frees the state of all sequences: the engine ends. */
  public void closeStates() {
    states.close();
  }

  /** What weights may take on the device; {@link Long#MAX_VALUE} for no limit that is known. */
  public long poolBytes() {
    return room.poolBytes();
  }

  /** Any thread may ask. */
  public long residentBytes() {
    return room.residentBytes();
  }

  public long pinnedBytes() {
    return room.pinnedBytes();
  }

  public long loadingBytes() {
    return room.loadingBytes();
  }

  /** Most that the runs of one model take besides weights. */
  public long scratchBytes() {
    return room.scratchBytes();
  }

  public String policy() {
    return policy.name();
  }

  public boolean isPinned(int slot) {
    return entry(slot).pinned;
  }

  /** When a batch of it last ran; {@link Long#MIN_VALUE} for never, or when that is not kept. */
  public long lastUsedNanos(int slot) {
    return entry(slot).lastUsedNanos;
  }

  /** In how many nanoseconds it is expected to be used; infinite when nothing tells. */
  public double nextUseNanos(int slot, long nowNanos) {
    return entry(slot).weights.count() == 0 ? 0 : policy.nextUseNanos(slot, nowNanos);
  }

  private Entry entry(int slot) {
    return Objects.requireNonNull(entries[slot], "a model without weights here");
  }

  /** Weights that have left the device, and are to be closed. Owned by whoever has it. */
  public static final class Left {
    private final int modelIndex;
    private final DeviceWeights weights;

    private Left(int modelIndex, DeviceWeights weights) {
      this.modelIndex = modelIndex;
      this.weights = weights;
    }

    public int modelIndex() {
      return modelIndex;
    }

    void close() {
      weights.close();
    }
  }

  /**
   * @param key where it stood among the wanted
   */
  private record Chosen(int slot, long key) {}

  private static final class Entry {
    final ModelWeights weights;
    final long scratchBytes;
    boolean pinned;
    long lastUsedNanos = Long.MIN_VALUE;

    Entry(ModelWeights weights, long scratchBytes) {
      this.weights = weights;
      this.scratchBytes = scratchBytes;
    }

    /** True when it has weights, and they are there. */
    boolean isOnDevice() {
      return weights.count() > 0 && weights.isResident();
    }
  }
}
