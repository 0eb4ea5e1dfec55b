package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A plugin's transfer manager for one tensor, and the parts that it has on the link. Owned by the
 * tensor's {@link PjrtBuffer}, and used by those only who hold that. Thread-safe.
 */
final class PjrtParts {
  private static final long NONE = 0;
  private static final Logger log = LoggerFactory.getLogger(PjrtParts.class);

  private final long api;
  private final TensorType type;
  private volatile boolean whole;

  // Guarded by this.
  private long manager = NONE;
  private final ArrayDeque<Part> onLink = new ArrayDeque<>();
  private int waiting;

  /** Owns nothing until {@link #begin}. */
  PjrtParts(PjrtClient client, TensorType type) {
    this.api = client.api();
    this.type = type;
  }

  /**
   * Takes the device memory of all of it.
   *
   * @return the native buffer, which becomes the caller's
   * @throws DeviceException UNSUPPORTED when the plugin has no such manager
   */
  synchronized long begin(long client, long device, int bufferType) {
    long[] made = new long[2];
    begin(api, client, device, bufferType, type.shape().dims(), made);
    manager = made[0];
    return made[1];
  }

  /** True when the last part has been handed over. */
  boolean isWhole() {
    return whole;
  }

  /**
   * Hands a part over.
   *
   * @param memory native; lent until the part has arrived or {@link #end} has returned
   * @throws DeviceException INTERNAL or what the plugin says when a part before it has failed
   */
  synchronized Part transfer(long buffer, MemorySegment memory, long offset, boolean last) {
    forgetArrived();
    // A tensor of which parts are missing is ready only when it has failed, and the plugin ends the
    // process when it is given more of such a one.
    if (PjrtBuffer.isReady(api, buffer)) {
      PjrtBuffer.awaitReady(api, buffer);
      throw new DeviceException(
          Code.INTERNAL, "upload of " + type + ": the plugin takes no further part of it");
    }
    Part part = new Part(memory);
    part.event = transfer(api, manager, memory.address(), offset, memory.byteSize(), last);
    onLink.add(part);
    whole = last;
    return part;
  }

  synchronized boolean hasArrived(Part part) {
    return part.event == NONE || PjrtEvent.isReady(api, part.event);
  }

  /** Waits; throws what went wrong. */
  void await(Part part) {
    long event;
    synchronized (this) {
      event = part.event;
      if (event == NONE) {
        return;
      }
      waiting++;
    }
    try {
      PjrtEvent.await(api, event);
    } finally {
      synchronized (this) {
        waiting--;
      }
    }
  }

  /** Frees what the plugin keeps for parts, once all of them have arrived. */
  synchronized void onAllArrived() {
    forgetArrived();
    if (whole && onLink.isEmpty()) {
      destroyManager();
    }
  }

  /**
   * Waits for what is on the link, gives up what is missing, and frees all but the buffer. The
   * memory of all parts is the caller's again, whatever this throws. The last call.
   *
   * @param buffer which nobody holds
   */
  synchronized void end(long buffer) {
    for (Part part = onLink.poll(); part != null; part = onLink.poll()) {
      try {
        PjrtEvent.await(api, part.event);
      } catch (DeviceException failure) {
        log.warn("a part of {} failed: {}", type, failure.getMessage());
      } finally {
        PjrtEvent.destroy(api, part.event);
        part.event = NONE;
      }
    }
    if (manager == NONE) {
      return;
    }
    try {
      // Not every plugin's manager tells the tensor, when it goes, that nothing more will come; the
      // tensor would wait for it.
      if (!whole && !PjrtBuffer.isReady(api, buffer)) {
        giveUp(api, manager);
      }
    } finally {
      destroyManager();
    }
  }

  private void destroyManager() {
    if (manager != NONE) {
      destroy(api, manager);
      manager = NONE;
    }
  }

  /** Failed ones stay, for their waiters to report. */
  private void forgetArrived() {
    if (waiting > 0) {
      return;
    }
    for (Part part = onLink.peek(); part != null; part = onLink.peek()) {
      if (!PjrtEvent.isReady(api, part.event) || failed(part)) {
        return;
      }
      PjrtEvent.destroy(api, part.event);
      part.event = NONE;
      part.memory = null;
      onLink.remove();
    }
  }

  private boolean failed(Part part) {
    try {
      PjrtEvent.await(api, part.event);
      return false;
    } catch (DeviceException toldElsewhere) {
      return true;
    }
  }

  /** A part that has been handed over; only {@link PjrtParts} looks into it, under its lock. */
  static final class Part {
    /** Owned; {@link #NONE} once the part has been seen to arrive. */
    private long event = NONE;

    /** Held so that it is not collected; it may be a copy of the caller's. */
    private @Nullable MemorySegment memory;

    private Part(MemorySegment memory) {
      this.memory = memory;
    }
  }

  private static native void begin(
      long api, long client, long device, int type, long[] dims, long[] made);

  private static native long transfer(
      long api, long manager, long address, long offset, long size, boolean last);

  private static native void giveUp(long api, long manager);

  private static native void destroy(long api, long manager);
}
