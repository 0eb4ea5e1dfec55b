package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.ReadTarget;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A tensor on a PJRT device. Thread-safe. */
final class PjrtBuffer extends NativeHandle implements DeviceBuffer {
  static final long NO_EVENT = 0;

  private static final Logger log = LoggerFactory.getLogger(PjrtBuffer.class);

  private final PjrtClient client;
  private final TensorType type;
  private final long byteSize;

  /** The caller's memory that the device may read in place; held so that it is not collected. */
  private final @Nullable MemorySegment aliased;

  /** Null for what was uploaded, and once the tensor has been taken out of its run. */
  private volatile @Nullable PjrtExecution producer;

  /** What is on its way of a tensor that comes in parts; owned. */
  private final @Nullable PjrtParts parts;

  /** The event of the plugin's last look at the caller's memory; owned. */
  private long transfer = NO_EVENT;

  /** Where the data lies in host memory; 0 until asked for. */
  private volatile long hostAddress;

  /** Owns nothing yet. */
  private PjrtBuffer(
      PjrtClient client,
      TensorType type,
      long byteSize,
      @Nullable MemorySegment aliased,
      @Nullable PjrtExecution producer,
      @Nullable PjrtParts parts) {
    super(client.openHandleList());
    this.client = client;
    this.type = type;
    this.byteSize = byteSize;
    this.aliased = aliased;
    this.producer = producer;
    this.parts = parts;
  }

  static PjrtBuffer upload(
      PjrtClient client, TensorType type, long byteSize, @Nullable MemorySegment aliased) {
    return new PjrtBuffer(client, type, byteSize, aliased, null, null);
  }

  /**
   * @param parts become the buffer's
   */
  static PjrtBuffer parted(PjrtClient client, TensorType type, long byteSize, PjrtParts parts) {
    return new PjrtBuffer(client, type, byteSize, null, null, parts);
  }

  /**
   * Takes what an upload has made.
   *
   * @param transferEvent ready when the plugin has read the caller's memory; {@link #NO_EVENT} when
   *     it has already, or reads it for as long as the buffer lives
   */
  void ownUpload(long buffer, long transferEvent) {
    transfer = transferEvent;
    own(buffer);
  }

  static PjrtBuffer output(
      PjrtClient client, ProgramSignature.Result result, PjrtExecution producer) {
    return new PjrtBuffer(client, result.type(), result.byteSize(), null, producer, null);
  }

  /** Its run is over and forgotten: otherwise each tensor would keep the runs before it alive. */
  void outlivesRun() {
    producer = null;
  }

  @Override
  public TensorType type() {
    return type;
  }

  @Override
  public boolean isReady() {
    long buffer = hold();
    try {
      return isReady(client.api(), buffer);
    } finally {
      release();
    }
  }

  @Override
  public void awaitReady() {
    long buffer = hold();
    try {
      checkWhole();
      awaitReady(client.api(), buffer);
    } finally {
      release();
    }
  }

  @Override
  public void read(long offset, MemorySegment target) {
    long size = target.byteSize();
    if (offset < 0 || size > byteSize || offset > byteSize - size) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "read of %d bytes at %d is outside %s of %d bytes"
              .formatted(size, offset, type, byteSize));
    }
    ReadTarget.check(target, type);
    long buffer = hold();
    try {
      PjrtExecution run = producer;
      if (run != null) {
        run.await();
      }
      checkWhole();
      checkAliasedMemoryIsAlive();
      if (size > 0) {
        copy(buffer, offset, target);
      }
    } finally {
      release();
    }
  }

  @Override
  public Optional<MemorySegment> view() {
    PjrtExecution run = producer;
    if (run == null) {
      return Optional.empty();
    }
    long buffer = hold();
    try {
      run.checkEnded();
      if (!client.readsInPlace()) {
        return Optional.empty();
      }
      MemorySegment bytes = byteSize == 0 ? MemorySegment.NULL : inHostMemory(buffer);
      return run.borrows(bytes) ? Optional.empty() : Optional.of(bytes);
    } finally {
      release();
    }
  }

  /** True when these bytes are, in part, the caller's memory that this reads in place. */
  boolean aliases(MemorySegment bytes) {
    return aliased != null && aliased.isNative() && aliased.asOverlappingSlice(bytes).isPresent();
  }

  /** Holds this as an argument of a run; the run releases it. */
  long holdAsArgument() {
    checkWhole();
    checkAliasedMemoryIsAlive();
    return hold();
  }

  PjrtClient client() {
    return client;
  }

  @Override
  String describe() {
    return (producer == null ? "buffer " : "output ") + type;
  }

  @Override
  void free(long address) {
    try {
      awaitTransfer();
      if (parts != null) {
        parts.end(address);
      }
    } finally {
      destroy(client.api(), address);
    }
  }

  /** The caller's memory is the caller's again from here on. */
  private void awaitTransfer() {
    if (transfer == NO_EVENT) {
      return;
    }
    try {
      PjrtEvent.await(client.api(), transfer);
    } catch (DeviceException failure) {
      // A run of this buffer has failed of it too; without one nobody needs what is lost.
      log.warn("the upload of {} failed: {}", type, failure.getMessage());
    } finally {
      PjrtEvent.destroy(client.api(), transfer);
    }
  }

  /** Waiting for a tensor with missing parts would never end. */
  private void checkWhole() {
    if (parts != null && !parts.isWhole()) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT, describe() + " has not been handed over to its last part");
    }
  }

  private void checkAliasedMemoryIsAlive() {
    if (aliased != null && !aliased.scope().isAlive()) {
      throw new DeviceException(
          Code.CLOSED,
          describe()
              + " may read the caller's memory in place and that memory's arena is closed; close the"
              + " buffer first");
    }
  }

  private void copy(long buffer, long offset, MemorySegment target) {
    if (client.readsInPlace()) {
      // A copy through the plugin costs a hop to one of its threads, 20 times the price of a small
      // read (measured: 25 us against 1.5 us for a run and its read).
      MemorySegment.copy(inHostMemory(buffer), offset, target, 0, target.byteSize());
    } else if (target.isNative()) {
      copyByPlugin(buffer, offset, target);
    } else {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment staged = arena.allocate(target.byteSize(), 64);
        copyByPlugin(buffer, offset, staged);
        target.copyFrom(staged);
      }
    }
  }

  private void copyByPlugin(long buffer, long offset, MemorySegment target) {
    long size = target.byteSize();
    try {
      if (size == byteSize) {
        copyToHost(client.api(), buffer, type.shape().rank(), target.address(), size);
      } else {
        copyRawToHost(client.api(), buffer, offset, target.address(), size);
      }
    } finally {
      // The plugin has an address only.
      Reference.reachabilityFence(target);
    }
  }

  private MemorySegment inHostMemory(long buffer) {
    long start = hostAddress;
    if (start == 0) {
      start = unsafePointer(client.api(), buffer);
      hostAddress = start;
    }
    return MemorySegment.ofAddress(start).reinterpret(byteSize);
  }

  static native boolean isReady(long api, long buffer);

  static native void awaitReady(long api, long buffer);

  private static native void destroy(long api, long buffer);

  private static native long unsafePointer(long api, long buffer);

  static native void copyToHost(long api, long buffer, int rank, long address, long size);

  private static native void copyRawToHost(
      long api, long buffer, long offset, long address, long size);
}
