package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * A native object: alive until closed, once, by its owner. A user holds it meanwhile, so that it
 * cannot be closed during a call or a run on another thread. Thread-safe.
 */
abstract class NativeHandle implements AutoCloseable {
  private static final int CLOSED = -1;
  private static final VarHandle HOLDS;

  static {
    try {
      HOLDS = MethodHandles.lookup().findVarHandle(NativeHandle.class, "holds", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // Links of the list in OpenHandles, which alone touches them.
  @Nullable NativeHandle previous;
  @Nullable NativeHandle next;

  private final @Nullable OpenHandles registry;
  private long address;
  private volatile int holds = CLOSED;

  /**
   * Is closed until {@link #own}. Made before the native object is, so that nothing can fail
   * between the plugin's giving and our owning.
   */
  NativeHandle(@Nullable OpenHandles registry) {
    this.registry = registry;
  }

  /** Takes a native object, once; stands in the registry, if there is one, until closed. */
  final void own(long nativeObject) {
    address = nativeObject;
    holds = 0;
    if (registry != null) {
      registry.add(this);
    }
  }

  /** Names this object in messages, such as {@code buffer f32[4]}. */
  abstract String describe();

  /** Destroys the native object; called once, when nobody holds it. */
  abstract void free(long address);

  /** A last look before {@link #free}; an exception keeps this open. */
  void checkFreeable() {}

  /**
   * Keeps this open until {@link #release}.
   *
   * @return the native address, valid until then
   */
  final long hold() {
    int seen = holds;
    while (true) {
      if (seen == CLOSED) {
        throw new DeviceException(Code.CLOSED, describe() + " is closed");
      }
      int witness = (int) HOLDS.compareAndExchange(this, seen, seen + 1);
      if (witness == seen) {
        return address;
      }
      seen = witness;
    }
  }

  final void release() {
    HOLDS.getAndAdd(this, -1);
  }

  /**
   * Closing twice is harmless.
   *
   * @throws DeviceException when it is in use; it stays open then
   */
  @Override
  public void close() {
    int seen = (int) HOLDS.compareAndExchange(this, 0, CLOSED);
    if (seen == CLOSED) {
      return;
    }
    if (seen > 0) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          describe() + " is in use by " + seen + " calls or runs; close it after they end");
    }
    try {
      checkFreeable();
    } catch (DeviceException stillNeeded) {
      holds = 0;
      throw stillNeeded;
    }
    try {
      free(address);
    } finally {
      if (registry != null) {
        registry.remove(this);
      }
    }
  }
}
