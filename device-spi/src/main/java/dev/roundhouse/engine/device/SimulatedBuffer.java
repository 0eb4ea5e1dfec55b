package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A tensor of the simulated device. Thread-safe. */
final class SimulatedBuffer extends SimulatedHandle implements DeviceBuffer {
  /** For data with a part that has not been handed over yet. */
  private static final long UNTOLD = Long.MAX_VALUE;

  /** What a view is full of when its tensor is closed. */
  static final byte SPOILT = (byte) 0xDB;

  private final TensorType type;

  /** When the data has crossed the link, or the run that makes it is over. */
  private volatile long arrivedNanos;

  /** True when the data is the caller's memory. */
  private final boolean aliased;

  /** Null while all bytes are zero and nobody has looked. */
  private volatile @Nullable MemorySegment data;

  private volatile @Nullable SimulatedExecution producer;

  /** What others read; never freed under them. */
  private volatile @Nullable MemorySegment view;

  private SimulatedBuffer(
      SimulatedDevice device,
      TensorType type,
      @Nullable MemorySegment data,
      boolean aliased,
      long arrivedNanos) {
    super(device);
    this.type = type;
    this.data = data;
    this.aliased = aliased;
    this.arrivedNanos = arrivedNanos;
  }

  static SimulatedBuffer uploaded(
      SimulatedDevice device,
      TensorType type,
      MemorySegment data,
      boolean aliased,
      long arrivedNanos) {
    return new SimulatedBuffer(device, type, data, aliased, arrivedNanos);
  }

  /** Of data that comes in parts. */
  static SimulatedBuffer parted(SimulatedDevice device, TensorType type) {
    return new SimulatedBuffer(device, type, null, false, UNTOLD);
  }

  static SimulatedBuffer output(SimulatedDevice device, TensorType type, long arrivedNanos) {
    return new SimulatedBuffer(device, type, null, false, arrivedNanos);
  }

  /** The last part is on its way. */
  void arrivesAt(long nanos) {
    arrivedNanos = nanos;
  }

  void producedBy(SimulatedExecution execution) {
    producer = execution;
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
    hold();
    try {
      SimulatedExecution run = producer;
      return run == null ? device().isPast(arrivedNanos) : run.isDone();
    } finally {
      release();
    }
  }

  @Override
  public void awaitReady() {
    hold();
    try {
      awaitData();
    } finally {
      release();
    }
  }

  @Override
  public void read(long offset, MemorySegment target) {
    if (offset < 0 || offset > type.byteSize() - target.byteSize()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "read of %d bytes at %d is outside %s, which has %d bytes"
              .formatted(target.byteSize(), offset, type, type.byteSize()));
    }
    ReadTarget.check(target, type);
    device().checkTarget(target, type);
    hold();
    try {
      awaitData();
      device().onRead(target.byteSize());
      MemorySegment source = data;
      if (source == null) {
        target.fill((byte) 0);
      } else {
        checkAlive();
        MemorySegment.copy(source, offset, target, 0, target.byteSize());
      }
    } finally {
      release();
    }
  }

  /** Memory of its own, which is overwritten when the tensor is closed. */
  @Override
  public Optional<MemorySegment> view() {
    SimulatedExecution run = producer;
    if (run == null) {
      return Optional.empty();
    }
    hold();
    try {
      run.checkEnded();
      MemorySegment known = view;
      if (known == null) {
        MemorySegment source = data;
        known = Arena.ofAuto().allocate(type.byteSize(), 64);
        if (source != null) {
          known.copyFrom(source);
        }
        view = known;
      }
      return Optional.of(known);
    } finally {
      release();
    }
  }

  /** Who reads on in a view sees it. */
  void spoilView() {
    MemorySegment known = view;
    if (known != null) {
      known.fill(SPOILT);
    }
  }

  /** Waits until the bytes are there; throws what kept them away. */
  void awaitData() {
    checkWhole();
    SimulatedExecution run = producer;
    if (run == null) {
      device().awaitTime(arrivedNanos);
    } else {
      run.await();
    }
  }

  /** The bytes, to be read or, by the run that makes them, filled. */
  MemorySegment data() {
    MemorySegment known = data;
    if (known == null) {
      known = MemorySegment.ofArray(new byte[Math.toIntExact(type.byteSize())]);
      data = known;
    }
    return known;
  }

  private void checkWhole() {
    if (arrivedNanos == UNTOLD) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          describe() + " has not been handed over to its last part");
    }
  }

  void checkAlive() {
    checkWhole();
    MemorySegment memory = data;
    if (memory != null && !memory.scope().isAlive()) {
      throw new DeviceException(
          DeviceException.Code.CLOSED,
          describe()
              + " reads the caller's memory in place and that memory's arena is closed; close the"
              + " buffer first");
    }
  }

  /** Tells changes of the caller's memory; always the same for memory of the device's own. */
  long checksum() {
    MemorySegment memory = data;
    if (!aliased || memory == null) {
      return 0;
    }
    checkAlive();
    return Checksum.of(memory);
  }

  long arrivedNanos() {
    return arrivedNanos;
  }

  @Override
  String describe() {
    return "buffer " + type;
  }
}
