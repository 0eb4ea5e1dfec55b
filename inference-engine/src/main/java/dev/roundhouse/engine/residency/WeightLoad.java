package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.hostweights.HostWeights;
import dev.roundhouse.engine.hostweights.Lease;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One model's way to the device. Belongs to the uploader from when it is handed over until the lane
 * gives it back, to the dispatch thread before and after.
 */
public final class WeightLoad {
  private final int modelIndex;
  private final ModelWeights weights;
  private final DeviceBuffer[] buffers;
  private @Nullable Lease lease;

  /** True when the device may read the leased memory in place. */
  private boolean aliased;

  private int begun;
  private @Nullable PartedUpload parted;
  private long partOffset;

  /** Written by the uploader, read by any thread. */
  private volatile long handedOver;

  private boolean uploaded;
  private long beganNanos;
  private long endedNanos;
  private @Nullable Throwable failure;

  /**
   * @param modelIndex of the model
   */
  public WeightLoad(int modelIndex, ModelWeights weights) {
    this.modelIndex = modelIndex;
    this.weights = weights;
    buffers = new DeviceBuffer[weights.count()];
  }

  public int modelIndex() {
    return modelIndex;
  }

  public ModelWeights weights() {
    return weights;
  }

  /** How long it had the link, or shared it, in nanoseconds; once it is over. */
  public long nanos() {
    return endedNanos - beganNanos;
  }

  public long endedNanos() {
    return endedNanos;
  }

  /** Why the weights are not on the device; null when they are. */
  public @Nullable Throwable failure() {
    return failure;
  }

  /** Says that the weights are where the buffers are. Dispatch thread only, once it is over. */
  public void settle() {
    if (failure != null) {
      throw new IllegalStateException("a load that failed has brought nothing to the device");
    }
    weights.arrived(new DeviceWeights(buffers, lease));
  }

  void began(long nowNanos) {
    beganNanos = nowNanos;
  }

  /** Bytes that have not been handed over to the device. Any thread may ask. */
  public long left() {
    return weights.byteSize() - handedOver;
  }

  /** True when all of it has been handed over, though not all need have arrived. */
  boolean isHandedOver() {
    return uploaded;
  }

  boolean isLeased() {
    return lease != null;
  }

  /**
   * Has the weights in host memory until the load is over, or for as long as the device may read
   * them in place. Reads their files when they are not there, which blocks.
   */
  void lease(HostMemory use) {
    HostWeights hostWeights = weights.hostWeights();
    weights.reading();
    // What is read again for this load is let go of when it is on the device.
    aliased = use == HostMemory.ALIAS && weights.isInMemory();
    lease = hostWeights.lease();
  }

  /**
   * Hands the next tensor over, or a part of it where the device takes parts.
   *
   * @param partBytes of a part
   * @return what is on the link now
   */
  Upload next(Device device, long partBytes) {
    HostWeights hostWeights = weights.hostWeights();
    Lease memory = Objects.requireNonNull(lease, "not leased");
    PartedUpload open = parted;
    int tensor = open == null ? begun : begun - 1;
    MemorySegment data = memory.tensor(tensor);
    long size = data.byteSize();
    if (open == null) {
      open = size > partBytes ? device.uploadInParts(hostWeights.type(tensor)).orElse(null) : null;
      DeviceBuffer buffer =
          open == null
              ? device.upload(
                  hostWeights.type(tensor), data, aliased ? HostMemory.ALIAS : HostMemory.COPY)
              : open.buffer();
      buffers[begun++] = buffer;
      partOffset = 0;
      if (open == null) {
        return handedOver(buffer, size);
      }
    }
    long bytes = Math.min(partBytes, size - partOffset);
    Arrival arrival = open.write(data.asSlice(partOffset, bytes));
    partOffset += bytes;
    parted = partOffset < size ? open : null;
    return handedOver(arrival, bytes);
  }

  private Upload handedOver(Arrival arrival, long bytes) {
    handedOver = handedOver + bytes;
    uploaded = parted == null && begun == buffers.length;
    return new Upload(this, arrival, bytes, uploaded);
  }

  /**
   * Bytes on the link.
   *
   * @param isLast true when the load has arrived when they have
   */
  record Upload(WeightLoad load, Arrival arrival, long bytes, boolean isLast) {}

  void ended(long nowNanos) {
    endedNanos = nowNanos;
    if (!aliased) {
      closeLease();
    }
  }

  private void closeLease() {
    Lease memory = lease;
    lease = null;
    if (memory != null) {
      memory.close();
    }
  }

  /** Gives back what is on the device of it. */
  void failed(Throwable cause, long nowNanos) {
    failure = Objects.requireNonNull(cause);
    endedNanos = nowNanos;
    for (int i = 0; i < begun; i++) {
      try {
        buffers[i].close();
      } catch (RuntimeException | Error e) {
        if (e != cause) {
          cause.addSuppressed(e);
        }
      }
    }
    closeLease();
  }
}
