package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.residency.WeightLoad.Upload;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies weights to the device while others run. Evictions finish before later uploads begin, so
 * the dispatch thread's count is never exceeded.
 *
 * <p>Uploads go tensor by tensor, large ones in parts, with a few on the link at a time: it never
 * waits for this side, and the inputs of a batch, which cross the same link, wait for no more than
 * those. Of several loads the one that began first and the one with the least left have the link in
 * turns: a small model does not wait for a large one, and no stream of small ones stops a large
 * one.
 *
 * <p>The dispatch thread hands loads over and takes them back; one thread turns the lane: {@code
 * weights} or, in an engine that is stepped, the dispatch thread itself.
 */
public final class WeightUploader {
  private static final Logger log = LoggerFactory.getLogger(WeightUploader.class);

  /** What {@link #inDeviceSinceNanos} and {@link #readingSinceNanos} say while it is not so. */
  public static final long NOT_NOW = Long.MIN_VALUE;

  private final Device device;
  private final HostMemory use;
  private final PartSize parts;
  private final NanoClock clock;
  private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();
  private final Queue<WeightLoad> ended = new ConcurrentLinkedQueue<>();

  private volatile long inDeviceSince = NOT_NOW;
  private volatile long readingSince = NOT_NOW;

  // Owned by the thread that turns the lane.
  private final List<WeightLoad> open = new ArrayList<>();
  private final ArrayDeque<Upload> onLink = new ArrayDeque<>();
  private long bytesOnLink;

  /** When something arrived and the link went on with what came after; else {@link #NOT_NOW}. */
  private long lastArrivalNanos = NOT_NOW;

  private boolean oldestsTurn;

  /**
   * @param use how {@link Device#upload} may use the host weights
   * @param partBytes the least of a part of a large tensor
   */
  WeightUploader(Device device, HostMemory use, long partBytes, NanoClock clock) {
    parts = new PartSize(partBytes);
    this.device = device;
    this.use = use;
    this.clock = clock;
  }

  /** Has weights brought to the device. Takes the load until it is given back. */
  public void load(WeightLoad load) {
    tasks.add(new Task.Load(load));
  }

  /**
   * Has weights closed, before anything is uploaded that is asked for later.
   *
   * @param then called when they are, by the thread that turns the lane
   */
  public void free(WeightCache.Left left, Runnable then) {
    tasks.add(new Task.Free(left, then));
  }

  /** A load that is over; null when there is none. */
  public @Nullable WeightLoad ended() {
    return ended.poll();
  }

  /** True when {@link #ended} has something to give. */
  public boolean hasEnded() {
    return !ended.isEmpty();
  }

  /** True when something has been handed over and not yet taken up. */
  public boolean hasTasks() {
    return !tasks.isEmpty();
  }

  /** Since when a call of the device has been under way, on the system's clock. Any thread. */
  public long inDeviceSinceNanos() {
    return inDeviceSince;
  }

  /** Since when a model's weights have been read from their files, likewise. Any thread. */
  public long readingSinceNanos() {
    return readingSince;
  }

  /** True while something is being uploaded. For the thread that turns the lane. */
  public boolean isBusy() {
    return !open.isEmpty();
  }

  /**
   * Does what can be done without waiting for the link.
   *
   * @return how many things it did
   */
  public int turn() {
    int work = takeTasks() + takeArrivals();
    while (bytesOnLink < parts.mostOnLink()) {
      WeightLoad load = choose();
      if (load == null) {
        return work;
      }
      uploadNext(load);
      work++;
    }
    return work;
  }

  private int takeTasks() {
    int work = 0;
    for (Task task = tasks.poll(); task != null; task = tasks.poll()) {
      switch (task) {
        case Task.Load load -> begin(load.load());
        case Task.Free free -> free(free);
      }
      work++;
    }
    return work;
  }

  private void begin(WeightLoad load) {
    load.began(clock.nanoTime());
    open.add(load);
  }

  private void free(Task.Free free) {
    inDeviceSince = System.nanoTime();
    try {
      free.left().close();
    } catch (RuntimeException | Error e) {
      log.error("weights could not be taken off the device", e);
    } finally {
      inDeviceSince = NOT_NOW;
    }
    free.then().run();
  }

  private int takeArrivals() {
    int work = 0;
    for (Upload first = onLink.peek(); first != null; first = onLink.peek()) {
      try {
        if (!first.arrival().isReady()) {
          break;
        }
        first.arrival().awaitReady(); // throws what kept it from arriving
      } catch (Throwable e) {
        fail(first.load(), e);
        work++;
        continue;
      }
      onLink.remove();
      bytesOnLink -= first.bytes();
      work++;
      noteArrival(first.bytes());
      if (first.isLast()) {
        end(first.load());
      }
    }
    return work;
  }

  private void noteArrival(long bytes) {
    long now = clock.nanoTime();
    if (lastArrivalNanos != NOT_NOW) {
      parts.arrived(bytes, now - lastArrivalNanos);
    }
    lastArrivalNanos = onLink.isEmpty() ? NOT_NOW : now;
  }

  /** The load whose next tensor is to go; null when there is none. */
  private @Nullable WeightLoad choose() {
    WeightLoad oldest = null;
    WeightLoad least = null;
    for (WeightLoad load : open) {
      if (load.isHandedOver()) {
        continue;
      }
      oldest = oldest == null ? load : oldest;
      least = least == null || load.left() < least.left() ? load : least;
    }
    oldestsTurn = !oldestsTurn;
    return oldestsTurn ? oldest : least;
  }

  private void uploadNext(WeightLoad load) {
    try {
      if (!load.isLeased()) {
        readingSince = System.nanoTime();
        load.lease(use);
        readingSince = NOT_NOW;
      }
      inDeviceSince = System.nanoTime();
      Upload upload = load.next(device, parts.current());
      bytesOnLink += upload.bytes();
      onLink.add(upload);
    } catch (Throwable e) {
      fail(load, e);
    } finally {
      readingSince = NOT_NOW;
      inDeviceSince = NOT_NOW;
    }
  }

  private void fail(WeightLoad load, Throwable cause) {
    onLink.removeIf(
        upload -> {
          boolean own = upload.load() == load;
          bytesOnLink -= own ? upload.bytes() : 0;
          return own;
        });
    load.failed(cause, clock.nanoTime());
    open.remove(load);
    ended.add(load);
  }

  private void end(WeightLoad load) {
    load.ended(clock.nanoTime());
    open.remove(load);
    ended.add(load);
  }

  /** Waits until the first tensor on the link has arrived; at once when there is none. */
  public void await() {
    Upload first = onLink.peek();
    if (first != null) {
      inDeviceSince = System.nanoTime();
      try {
        first.arrival().awaitReady();
      } catch (Throwable e) {
        fail(first.load(), e);
      } finally {
        inDeviceSince = NOT_NOW;
      }
    }
  }

  /** Gives up what is under way and frees what it holds. The last call. */
  public void close() {
    takeTasks();
    IllegalStateException stopping = new IllegalStateException("the server is stopping");
    for (WeightLoad load : List.copyOf(open)) {
      fail(load, stopping);
    }
  }

  private sealed interface Task {
    record Load(WeightLoad load) implements Task {}

    record Free(WeightCache.Left left, Runnable then) implements Task {}
  }
}
