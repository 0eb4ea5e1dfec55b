package dev.roundhouse.engine.state;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The state of one sequence: on the device, on the host, or as it is before the first step. A step
 * borrows it for its run, takes what the run leaves, and commits that when its caller is answered;
 * until then, and when the step fails, the state is what it was. Thread-safe.
 */
public final class CarriedState {
  private final DeviceStates store;
  private final StateTensors tensors;
  private final long byteSize;

  // Guarded by the store.
  private @Nullable HeldState held;
  private @Nullable HeldState taken;

  /** Null before the first step has been answered, or while it is on the device. */
  private byte @Nullable [][] host;

  private boolean over;

  public CarriedState(DeviceStates store, StateTensors tensors) {
    this.store = store;
    this.tensors = tensors;
    byteSize = tensors.byteSize();
  }

  /** Of all its tensors. */
  public long byteSize() {
    return byteSize;
  }

  /** How many tensors it has. */
  public int count() {
    return tensors.count();
  }

  // --- a step

  /**
   * What is on the device, for a run's arguments.
   *
   * @return to be released; null when it is not there, and {@link #copyTo} has it
   */
  public @Nullable HeldState borrow() {
    synchronized (store) {
      HeldState there = held;
      if (there != null) {
        there.use();
        store.used(this);
      }
      return there;
    }
  }

  /** Takes what a run has left, of a batch of this sequence alone. */
  public void take(Execution run) {
    @Nullable DeviceBuffer[] buffers = new @Nullable DeviceBuffer[tensors.count()];
    try {
      for (int i = 0; i < buffers.length; i++) {
        buffers[i] = run.take(tensors.outputs()[i]);
      }
    } catch (Throwable e) {
      HeldState.free(buffers);
      throw e;
    }
    synchronized (store) {
      taken = new HeldState(store, tensors, buffers);
    }
  }

  /** True when what the last run has left was taken, and is not committed. */
  public boolean hasTaken() {
    synchronized (store) {
      return taken != null;
    }
  }

  /** True for an output that was taken out of the run. */
  public boolean hasTaken(int output) {
    return hasTaken() && tensors.isOutput(output);
  }

  /**
   * What was taken is the state from now on.
   *
   * @return false when nothing was taken: the state is in the answer
   */
  public boolean commit() {
    synchronized (store) {
      HeldState now = taken;
      if (now == null) {
        return false;
      }
      taken = null;
      if (over || store.isClosed()) {
        now.drop();
        return true;
      }
      replace(now, null);
    }
    return true;
  }

  /**
   * Has other states leave when there is more on the device than may be; they are copied before
   * this returns, so the caller of a step is answered first.
   */
  public void makeRoomForIt() {
    store.keepWithinLimit();
  }

  /** Frees what was taken unless it has been committed. */
  public void dropTaken() {
    synchronized (store) {
      HeldState left = taken;
      taken = null;
      if (left != null) {
        left.drop();
      }
    }
  }

  // --- through the host

  /**
   * Replaces it by what went through the host.
   *
   * @param copies become its own
   */
  public void keep(byte @Nullable [][] copies) {
    synchronized (store) {
      replace(null, copies);
    }
  }

  /** Copies bytes of a tensor from where it is, or what it begins with before the first step. */
  public void copyTo(int state, long offset, MemorySegment target, long targetOffset, long length) {
    MemorySegment part = target.asSlice(targetOffset, length);
    byte @Nullable [][] kept;
    HeldState there;
    synchronized (store) {
      kept = host;
      there = borrow();
    }
    if (there != null) {
      try {
        DeviceBuffer buffer = there.buffer(state);
        if (buffer != null) {
          buffer.read(offset, part);
        }
      } finally {
        there.release();
      }
      return;
    }
    byte[] bytes = kept == null ? null : kept[state];
    if (bytes == null) {
      tensors.copyInitial(state, offset, part);
    } else {
      MemorySegment.copy(MemorySegment.ofArray(bytes), offset, part, 0, length);
    }
  }

  /**
   * Leaves the device for the host, unless a batch has it for an argument.
   *
   * @return how many bytes have become free there
   */
  long leave() {
    HeldState there;
    synchronized (store) {
      there = held;
      if (there == null || there.isUsed()) {
        return 0;
      }
      there.use();
    }
    byte @Nullable [][] copies = null;
    try {
      copies = read(there);
    } finally {
      synchronized (store) {
        boolean leaves = copies != null && held == there;
        there.release();
        if (leaves && there.isUsed()) {
          copies = null; // a step has begun meanwhile
        } else if (leaves) {
          replace(null, copies);
        }
      }
    }
    return copies == null ? 0 : byteSize;
  }

  private byte[][] read(HeldState there) {
    byte[][] copies = new byte[tensors.count()][];
    for (int i = 0; i < copies.length; i++) {
      copies[i] = new byte[tensors.byteSizes()[i]];
      DeviceBuffer buffer = there.buffer(i);
      if (buffer != null) {
        buffer.read(0, MemorySegment.ofArray(copies[i]));
      }
    }
    return copies;
  }

  /** Its sequence is over: nothing is kept any more. */
  public void close() {
    synchronized (store) {
      over = true;
      replace(null, null);
    }
  }

  private void replace(@Nullable HeldState now, byte @Nullable [][] copies) {
    HeldState before = held;
    held = now;
    host = copies;
    store.place(this, now != null);
    if (before != null) {
      before.drop();
    }
  }
}
