package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.PartedUpload;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** A device that says it has more memory than it gives. Thread-safe. */
final class LyingDevice extends ForwardingDevice {
  /** What is smaller is not counted. */
  private static final long LARGE = 1 << 20;

  private final long said;
  private final long capacity;
  private final AtomicLong held = new AtomicLong();
  private final AtomicLong refusals = new AtomicLong();

  /**
   * @param said bytes that it claims to have
   * @param capacity bytes that it gives, for large tensors; {@link Long#MAX_VALUE} where the device
   *     below runs out by itself
   */
  LyingDevice(Device device, long said, long capacity) {
    super(device);
    this.said = said;
    this.capacity = capacity;
  }

  /** How often an upload found no memory. */
  long refusals() {
    return refusals.get();
  }

  @Override
  public DeviceMemory memory() {
    return new DeviceMemory(
        OptionalLong.empty(), OptionalLong.of(said), OptionalLong.empty(), OptionalLong.empty());
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    return type.byteSize() < LARGE
        ? super.upload(type, data, use)
        : taking(type, () -> new Counted(super.upload(type, data, use)));
  }

  @Override
  public Optional<PartedUpload> uploadInParts(TensorType type) {
    Optional<PartedUpload> upload = taking(type, () -> super.uploadInParts(type));
    if (upload.isEmpty()) {
      held.addAndGet(-type.byteSize());
    }
    return upload.map(CountedUpload::new);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    DeviceBuffer[] own = arguments.clone();
    for (int i = 0; i < own.length; i++) {
      own[i] = own[i] instanceof Counted counted ? counted.buffer() : own[i];
    }
    return super.execute(program, own);
  }

  private <T> T taking(TensorType type, Supplier<T> upload) {
    long bytes = type.byteSize();
    boolean taken = false;
    try {
      long wanted = held.addAndGet(bytes);
      if (wanted > capacity) {
        throw new DeviceException(
            Code.OUT_OF_MEMORY,
            "no room for %s: %d bytes wanted, %d of %d in use"
                .formatted(type, bytes, wanted - bytes, capacity));
      }
      T made = upload.get();
      taken = true;
      return made;
    } catch (DeviceException e) {
      if (e.code() == Code.OUT_OF_MEMORY) {
        refusals.incrementAndGet();
      }
      throw e;
    } finally {
      if (!taken) {
        held.addAndGet(-bytes);
      }
    }
  }

  private final class CountedUpload implements PartedUpload {
    private final PartedUpload upload;
    private final Counted buffer;

    CountedUpload(PartedUpload upload) {
      this.upload = upload;
      this.buffer = new Counted(upload.buffer());
    }

    @Override
    public DeviceBuffer buffer() {
      return buffer;
    }

    @Override
    public Arrival write(MemorySegment part) {
      return upload.write(part);
    }
  }

  private final class Counted extends ForwardingBuffer {
    private boolean closed;

    Counted(DeviceBuffer buffer) {
      super(buffer);
    }

    @Override
    public synchronized void close() {
      super.close();
      if (!closed) {
        closed = true;
        held.addAndGet(-type().byteSize());
      }
    }
  }
}
