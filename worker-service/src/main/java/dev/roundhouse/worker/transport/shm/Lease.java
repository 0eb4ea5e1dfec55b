package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/** A part of a region in use by a request, which closes it. */
public final class Lease implements AutoCloseable {
  private final ClientRegion region;
  private final RegionRange range;
  private final AtomicBoolean closed = new AtomicBoolean();

  Lease(ClientRegion region, RegionRange range) {
    this.region = region;
    this.range = range;
  }

  public RegionRange range() {
    return range;
  }

  /** The bytes of an input, to be read before the lease is closed. */
  public TensorData data() {
    return region.data(range.offset(), range.byteSize());
  }

  /** Some bytes of an input, which lie in the lease; to be read before it is closed. */
  public TensorData data(long at, long byteSize) {
    return region.data(range.offset() + at, byteSize);
  }

  /**
   * Writes an output to the start of the lease.
   *
   * @param data no longer than the lease
   * @throws WireException when the client has made the region smaller
   */
  public void write(MemorySegment data) {
    write(0, data);
  }

  /**
   * The same, to any place in the lease.
   *
   * @param data which ends in the lease
   */
  public void write(long at, MemorySegment data) {
    long from = range.offset() + at;
    if (data.isNative()) {
      region.write(from, data);
      return;
    }
    try (Arena own = Arena.ofConfined()) { // the code of a model may answer with arrays
      region.write(from, own.allocate(data.byteSize()).copyFrom(data));
    }
  }

  /** Whether {@link #write} may block on a device, and so belongs on the device's own thread. */
  public boolean waitsForDevice() {
    return region.waitsForDevice();
  }

  /** Harmless when repeated. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      region.release();
    }
  }
}
