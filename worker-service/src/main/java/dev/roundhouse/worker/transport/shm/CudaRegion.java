package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.cuda.CudaException;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The beginning of an allocation on the worker's GPU. Inputs are copied from it by the dispatch
 * thread, straight into a batch, outputs to it by the {@link CudaThread}.
 */
final class CudaRegion extends ClientRegion {
  private static final Logger log = LoggerFactory.getLogger(CudaRegion.class);

  private final CudaThread thread;
  private final CudaThread.Opened allocation;
  private final CompletableFuture<Void> closed = new CompletableFuture<>();

  /**
   * @param allocation taken
   */
  CudaRegion(String name, long byteSize, CudaThread thread, CudaThread.Opened allocation) {
    super(name, byteSize);
    this.thread = thread;
    this.allocation = allocation;
  }

  int device() {
    return thread.device();
  }

  @Override
  void closeMemory() {
    thread.release(allocation, () -> closed.complete(null));
  }

  /** Completes when it is closed, or the worker is stopping. */
  CompletableFuture<Void> closed() {
    return closed;
  }

  /** CUDA does not tell when memory that is open here is gone. */
  @Override
  void requireThere(long from, long length) {}

  @Override
  TensorData data(long from, long length) {
    return new Data(from, length);
  }

  @Override
  void write(long from, MemorySegment data) {
    try {
      allocation.memory().write(from, data);
    } catch (CudaException e) {
      log.warn("CUDA shared memory region '{}' cannot be written: {}", name(), e.getMessage());
      throw new WireException(
          WireStatus.INTERNAL,
          "CUDA shared memory region '%s' cannot be written: %s".formatted(name(), e.getMessage()));
    }
  }

  @Override
  boolean waitsForDevice() {
    return true;
  }

  private final class Data implements TensorData {
    private final long from;
    private final long length;

    Data(long from, long length) {
      this.from = from;
      this.length = length;
    }

    @Override
    public long byteSize() {
      return length;
    }

    @Override
    public long heldBytes() {
      return 0; // the client's memory
    }

    @Override
    public boolean waitsForDevice() {
      return true;
    }

    @Override
    public void copyTo(long begin, MemorySegment target, long targetOffset, long count) {
      Objects.checkFromIndexSize(begin, count, length);
      try {
        allocation.memory().read(from + begin, target.asSlice(targetOffset, count));
      } catch (CudaException e) {
        throw new DeviceException(
            DeviceException.Code.INTERNAL,
            "CUDA shared memory region '%s' cannot be read: %s".formatted(name(), e.getMessage()),
            e);
      }
    }
  }
}
